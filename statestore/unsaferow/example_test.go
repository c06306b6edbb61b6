package unsaferow_test

import (
	"errors"
	"fmt"

	"github.com/sparkstate/sparkstate/statestore/provider"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/unsaferow"
)

func Example() {
	t, err := sqltype.ParseDDL("adviser_id STRING, clicks BIGINT")
	if err != nil {
		fmt.Println(err)
		return
	}
	row, err := unsaferow.Append(nil, t, []any{"adviser_00007", 42})
	if err != nil {
		fmt.Println(err)
		return
	}
	d, err := unsaferow.NewDecoder(t, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	rows, _, err := d.Decode([][]byte{row, row})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer rows.Release()
	fmt.Println(rows)

	// A flipped bit: the string would now be larger than the row.
	row[13] ^= 1
	_, _, err = d.Decode([][]byte{row})
	fmt.Println(err)
	fmt.Println(errors.Is(err, provider.ErrRow))
	// Output:
	// {["adviser_00007" "adviser_00007"] [42 42]}
	// row 0, column adviser_id: at byte 8: offset 280 and size 13 do not lie within bytes 24 to 40
	// true
}

func ExampleView() {
	t, err := sqltype.ParseDDL("adviser_id STRING, clicks BIGINT")
	if err != nil {
		fmt.Println(err)
		return
	}
	b, err := unsaferow.Append(nil, t, []any{"adviser_00007", 42})
	if err != nil {
		fmt.Println(err)
		return
	}
	row, err := unsaferow.View(b, len(t.Fields))
	if err != nil {
		fmt.Println(err)
		return
	}
	name, err := row.Bytes(0)
	fmt.Printf("%s %d %v\n", name, row.Int64(1), err)
	// Output:
	// adviser_00007 42 <nil>
}
