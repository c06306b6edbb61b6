package sidecar_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sparkstate/sparkstate/statestore/provider"
	"github.com/sparkstate/sparkstate/statestore/sidecar"
)

// A file beside its hidden .crc file.
func Example() {
	name := "../../testdata/4.1.4/ad_billing/checkpoint/state/1/0/1.delta"
	file, err := os.ReadFile(name)
	if err != nil {
		fmt.Println(err)
		return
	}
	crc, err := os.ReadFile(filepath.Join(filepath.Dir(name), sidecar.HadoopName(filepath.Base(name))))
	if err != nil {
		fmt.Println(err)
		return
	}
	sums, err := sidecar.ParseHadoop(crc)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(sums.Verify(file))
	file[100] ^= 1
	fmt.Println(errors.Is(sums.Verify(file), provider.ErrChecksum))
	// Output:
	// <nil>
	// true
}
