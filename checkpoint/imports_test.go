package checkpoint_test

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// To import the library brings no RPC and no Parquet into anybody's program:
// only the leaf package parquetexport does.
func TestCoreStaysLight(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("there is no go command here to list imports with")
	}
	const module = "github.com/sparkstate/sparkstate/"
	deps := func(packages ...string) []string {
		cmd := exec.Command(goTool, append([]string{"list", "-deps"}, packages...)...)
		cmd.Dir = ".."
		out, err := cmd.Output()
		require.NoError(t, err)
		return strings.Fields(string(out))
	}
	heavy := regexp.MustCompile(`grpc|thrift|parquet|protobuf|genproto|golang\.org/x/net|/flight|cobra`)
	for _, p := range deps("./statestore/...", "./checkpoint", "./checkpoint/portable", "./skew") {
		require.False(t, heavy.MatchString(p), "the library brings %s along", p)
	}
	require.Contains(t, deps("./checkpoint/parquetexport"), "google.golang.org/grpc")
	require.Contains(t, deps("./statestore/..."), module+"statestore/hdfs")
}
