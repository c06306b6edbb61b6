package main

import (
	"strconv"
	"strings"

	"github.com/sparkstate/sparkstate/checkpoint"
)

// findOperator returns the operator that a flag names: by id, by name, or by
// name and id.
func findOperator(cp *checkpoint.Checkpoint, text string) (*checkpoint.Operator, error) {
	var found, labels []string
	var op *checkpoint.Operator
	for _, o := range cp.Operators() {
		name, _ := o.Name()
		labels = append(labels, o.Label())
		if text == strconv.Itoa(o.ID()) || text == o.Label() {
			return o, nil
		}
		if text == name {
			found, op = append(found, o.Label()), o
		}
	}
	switch len(found) {
	case 0:
		return nil, &checkpoint.NotFoundError{What: "operator", Name: text, Have: labels}
	case 1:
		return op, nil
	}
	return nil, usagef("--operator %s is one of %s; say which", text, strings.Join(found, ", "))
}

// stores returns the stores that the flags pick; all of them without any flag.
func (a *app) stores(cp *checkpoint.Checkpoint) ([]*checkpoint.Store, error) {
	ops := cp.Operators()
	if a.operator != "" {
		op, err := findOperator(cp, a.operator)
		if err != nil {
			return nil, err
		}
		ops = []*checkpoint.Operator{op}
	}
	var out []*checkpoint.Store
	var names []string
	for _, o := range ops {
		if err := o.Err(); err != nil && !a.damaged {
			return nil, err
		}
		for _, s := range o.Stores() {
			names = append(names, o.Label()+"/"+s.Name())
			if a.store == "" || a.store == s.Name() {
				out = append(out, s)
			}
		}
	}
	if len(out) == 0 && a.store != "" {
		return nil, &checkpoint.NotFoundError{What: "store", Name: a.store, Have: names}
	}
	return out, nil
}

// oneStore returns the store that the flags pick, or the only one there is.
func (a *app) oneStore(cp *checkpoint.Checkpoint) (*checkpoint.Store, error) {
	all, err := a.stores(cp)
	if err != nil {
		return nil, err
	}
	if len(all) == 1 {
		return all[0], nil
	}
	if len(all) == 0 {
		return nil, &checkpoint.NotFoundError{What: "operator", Name: "with state"}
	}
	var choices []string
	for _, s := range all {
		choices = append(choices, "--operator "+s.Operator().Label()+" --store "+s.Name())
	}
	return nil, usagef("there are %d stores; pick one: %s", len(all), strings.Join(choices, " | "))
}
