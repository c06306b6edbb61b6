package main

import (
	"encoding/json"

	"github.com/sparkstate/sparkstate/checkpoint"
)

// judgeNames are the names of the judges in documents.
var judgeNames = [checkpoint.Judges]string{"sparkBefore41", "spark41", "spark42", "library"}

type checkAnswer struct {
	Judge    string  `json:"judge"`
	Restarts bool    `json:"restarts"`
	Why      *string `json:"why"`
	// Newest is null where no batch loads everywhere.
	Newest *int64     `json:"newestBatch"`
	Back   *checkBack `json:"rollback"`
}

type checkBack struct {
	Offsets  []int64   `json:"removeOffsets"`
	Commits  []int64   `json:"removeCommits"`
	Above    int64     `json:"removeStateAbove"`
	Again    *int64    `json:"runsAgain"`
	Replayed *[2]int64 `json:"replayedBatches"`
	Sources  []string  `json:"removeSourceLogs"`
	// Input is what the replayed batches have read, by source.
	Input []checkInput `json:"replayedInput"`
}

type checkInput struct {
	Source string `json:"source"`
	Kind   string `json:"kind"`
	// Start and End are offsets in the source's own notation.
	Start json.RawMessage `json:"start"`
	End   json.RawMessage `json:"end"`
	// Records is null where the source does not count them.
	Records *int64 `json:"records"`
}

type checkMap struct {
	Operator  int         `json:"operatorId"`
	Store     string      `json:"stateStoreName"`
	Partition int         `json:"partitionId"`
	Spans     []checkSpan `json:"spans"`
}

type checkSpan struct {
	First   int64                         `json:"firstBatch"`
	Last    int64                         `json:"lastBatch"`
	Loading map[string]checkpoint.Loading `json:"loading"`
	Why     *string                       `json:"why"`
}

// checkRows writes the findings as rows, and in a document the rest after them.
// The document is version 1, which TestCheckDocument pins: fields may be added
// to it, and neither go nor change what they mean.
func (a *app) checkRows(name string, cp *checkpoint.Checkpoint, r *checkpoint.CheckReport) error {
	sh := &sheet{format: a.format, header: document(name, numberOrNil(r.LastCommitted)), columns: []column{
		{name: "id"}, {name: "severity"}, {"operatorId", true}, {name: "operatorName"}, {name: "stateStoreName"}, {"partitionId", true},
		{"batch", true}, {name: "file"}, {"offset", true}, {name: "what"}, {name: "do"}, {name: "condition"},
	}}
	sh.footer = []field{
		{"level", r.Level}, {"askedBatch", numberOrNil(r.Asked)}, {"answers", checkAnswers(r)}, {"map", checkMaps(r)},
		{"filesDecoded", r.Files}, {"bytesDecoded", r.Bytes}, {"findingsLeftOut", r.LeftOut},
	}
	if err := sh.begin(a.out); err != nil {
		return err
	}
	for _, f := range r.Findings {
		if err := sh.row(textCell(f.ID), textCell(f.Severity.String()), numberOrNull(int64(f.Operator)), textOrNull(operatorName(cp, f.Operator)),
			textOrNull(f.Store), numberOrNull(int64(f.Partition)), numberOrNull(f.Batch), textOrNull(f.File), numberOrNull(f.Offset),
			textCell(f.What), textCell(f.Do), textOrNull(f.Condition)); err != nil {
			return err
		}
	}
	return sh.end()
}

// numberOrNil is a number as JSON, nil where -1 stands for none.
func numberOrNil(n int64) *int64 {
	if n < 0 {
		return nil
	}
	return &n
}

func numberOrNull(n int64) cell { return jsonCell(numberOrNil(n)) }

func errorOrNil(err error) *string {
	if err == nil {
		return nil
	}
	text := oneLine(err.Error())
	return &text
}

func operatorName(cp *checkpoint.Checkpoint, id int) string {
	o, err := cp.Operator(id)
	if err != nil {
		return "" // a finding about an operator that is not there
	}
	name, _ := o.Name()
	return name
}

func checkAnswers(r *checkpoint.CheckReport) []checkAnswer {
	var out []checkAnswer
	for j, answer := range r.Answers {
		c := checkAnswer{Judge: judgeNames[j], Restarts: answer.Restarts, Why: errorOrNil(answer.Why), Newest: numberOrNil(answer.Newest)}
		if b := answer.Back; b != nil {
			c.Back = &checkBack{Offsets: emptyIfNil(b.Offsets), Commits: emptyIfNil(b.Commits), Above: b.Above, Again: numberOrNil(b.Again), Sources: emptyIfNil(b.Sources), Input: checkInputs(b.Input)}
			if b.Replayed.First <= b.Replayed.Last {
				c.Back.Replayed = &[2]int64{b.Replayed.First, b.Replayed.Last}
			}
		}
		out = append(out, c)
	}
	return out
}

func checkInputs(sources []checkpoint.SourceProgress) []checkInput {
	out := []checkInput{}
	for i := range sources {
		p := &sources[i]
		in := checkInput{Source: p.ID, Kind: p.End.Kind.String(), Start: json.RawMessage(rawCell(p.Start)), End: json.RawMessage(rawCell(p.End))}
		if p.Exact {
			in.Records = &p.Records
		}
		out = append(out, in)
	}
	return out
}

// emptyIfNil makes JSON say [] rather than null.
func emptyIfNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func checkMaps(r *checkpoint.CheckReport) []checkMap {
	out := []checkMap{}
	for _, s := range r.Map.Stores {
		for _, p := range s.Partitions {
			m := checkMap{Operator: s.Operator, Store: s.Store, Partition: p.Partition, Spans: []checkSpan{}}
			for _, sp := range p.Spans {
				c := checkSpan{First: sp.First, Last: sp.Last, Loading: make(map[string]checkpoint.Loading), Why: errorOrNil(sp.Why)}
				for j, l := range sp.Loading {
					c.Loading[judgeNames[j]] = l
				}
				m.Spans = append(m.Spans, c)
			}
			out = append(out, m)
		}
	}
	return out
}
