package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAlert(t *testing.T) {
	for _, c := range []struct {
		share string
		want  error
	}{{"0.25", errAlert}, {"0.3", nil}} {
		for _, spark := range []string{"4.1.4", "3.5.9"} {
			var out bytes.Buffer
			err := run(t.Context(), []string{"-share", c.share, "../../testdata/" + spark + "/ad_billing/checkpoint"}, &out)
			require.ErrorIs(t, err, c.want)
			require.Contains(t, out.String(), `  "adviser_hot"  32`)
		}
	}
}

// TestOthers: checkpoints that are not of this query.
func TestOthers(t *testing.T) {
	for _, args := range [][]string{
		{}, {"-none"}, {"nowhere"}, {"../../testdata/4.1.4/session_window.zip"}, {"../../testdata/4.1.4/agg_v2.zip"}, {"../../testdata"},
	} {
		var out bytes.Buffer
		err := run(t.Context(), args, &out)
		require.Error(t, err, args)
		require.NotErrorIs(t, err, errAlert)
	}
}
