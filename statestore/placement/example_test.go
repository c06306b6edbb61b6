package placement_test

import (
	"fmt"

	"github.com/sparkstate/sparkstate/statestore/placement"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/unsaferow"
)

// In which of 4 partitions, or of 7, Spark looks for a key.
func Example() {
	key, err := sqltype.ParseDDL("profile_id STRING, adviser_id STRING")
	if err != nil {
		fmt.Println(err)
		return
	}
	row, err := unsaferow.Append(nil, key, []any{"profile_001201", "adviser_00010"})
	if err != nil {
		fmt.Println(err)
		return
	}
	h, err := placement.NewHasher(key, []int{0, 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	hash, err := h.Hash(row)
	fmt.Println(placement.Partition(hash, 4), placement.Partition(hash, 7), err)
	// Output:
	// 0 6 <nil>
}
