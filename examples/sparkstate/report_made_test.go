package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/statetest"
)

// hostile are keys that a page has to survive.
var hostile = []string{
	"<script>alert(1)</script>",
	`"></td><img src=x onerror=alert(1)>`,
	"</style><style>*{display:none}",
	"{{.}} <!-- ` ${1} & &amp; ' \"",
	"right\u202eto left\u2066 isolated \u200b\u0000\u001b[31m",
	"not UTF-8: \xff\xfe\xc3(",
	"שלום عليكم",
	"javascript:alert(1)",
	strings.Repeat("long ", 1<<20/5),
}

// sessions writes a state of session windows: keys with one row, one key that
// grows to hot rows, and hostile keys with a few rows each, over some batches.
func sessions(t *testing.T, partitions, batches, keys, hot int) string {
	t.Helper()
	typ := func(s string) *sqltype.Type {
		st, err := sqltype.ParseDDL(s)
		require.NoError(t, err)
		return st
	}
	dir := t.TempDir()
	w := statetest.NewWriter(statetest.Query{Spark: "4.0", Partitions: partitions, Operators: []statetest.Operator{{
		Name: "sessionWindowStateStoreSaveExec", PrefixColumns: 1,
		Stores: []statetest.Store{{Key: typ("user STRING, sessionStartTime TIMESTAMP"), Value: typ("count BIGINT"), Hashed: []int{0}}},
	}}}, statetest.Dir(dir))
	put := func(user string, session int) {
		w.Put(0, "default", []any{user, int64(session) * 60_000_000}, []any{int64(session)})
	}
	for b := range batches {
		for i := b * keys / batches; i < (b+1)*keys/batches; i++ {
			put(fmt.Sprint("user ", i), 0)
		}
		for i := b * hot / batches; i < (b+1)*hot/batches; i++ {
			put("the hot one", i)
		}
		if b == batches-1 {
			for i, k := range hostile {
				for s := range 3 + i {
					put(k, s)
				}
			}
		}
		require.NoError(t, w.Commit())
	}
	return dir
}
