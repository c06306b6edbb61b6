//lint:file-ignore SA1019 the older schema is the one that every Grafana from 9 on provisions from a file

package grafana

import (
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/heatmap"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

const dashboardFile = "dashboards/sparkstate.json"

// load reads the dashboard by Grafana's schema: an unknown field is an error,
// also in the options of a panel and in a query.
func load(t *testing.T) *dashboard.Dashboard {
	t.Helper()
	plugins.RegisterDefaultPlugins()
	text, err := os.ReadFile(dashboardFile)
	require.NoError(t, err)
	require.NoError(t, found(new(dashboard.Dashboard).UnmarshalJSONStrict(text)))
	// It leaves rows out, so it is read once more.
	d := new(dashboard.Dashboard)
	require.NoError(t, json.Unmarshal(text, d))
	require.NoError(t, found(d.Validate()))
	return d
}

// found is nil for a list of errors that is empty: that is what the strict
// reading of a row returns.
func found(err error) error {
	var list cog.BuildErrors
	if errors.As(err, &list) && len(list) == 0 {
		return nil
	}
	return err
}

// panels are those that show something.
func panels(t *testing.T, d *dashboard.Dashboard) []*dashboard.Panel {
	t.Helper()
	var out []*dashboard.Panel
	for _, p := range d.Panels {
		if p.Panel != nil {
			require.NoError(t, found(p.Panel.Validate()))
			out = append(out, p.Panel)
		}
	}
	return out
}

// expressions are the queries of all panels, by panel and letter.
func expressions(t *testing.T, d *dashboard.Dashboard) map[string]string {
	t.Helper()
	out := make(map[string]string)
	for _, p := range panels(t, d) {
		for _, q := range p.Targets {
			query, ok := q.(*prometheus.Dataquery)
			if !ok {
				v, isValue := q.(prometheus.Dataquery)
				require.True(t, isValue, "%s: %T", *p.Title, q)
				query = &v
			}
			out[*p.Title+" "+*query.RefId] = query.Expr
		}
	}
	return out
}

func TestDashboard(t *testing.T) {
	d := load(t)
	ids := make(map[uint32]bool)
	taken := make(map[[2]uint32]string)
	place := func(id *uint32, title string, at *dashboard.GridPos) {
		assert.False(t, ids[*id], "%s has the id of another panel", title)
		ids[*id] = true
		assert.LessOrEqual(t, at.X+at.W, uint32(24), title)
		for x := at.X; x < at.X+at.W; x++ {
			for y := at.Y; y < at.Y+at.H; y++ {
				assert.Empty(t, taken[[2]uint32{x, y}], "%s lies on another panel", title)
				taken[[2]uint32{x, y}] = title
			}
		}
	}
	for _, p := range d.Panels {
		if p.RowPanel != nil {
			place(&p.RowPanel.Id, *p.RowPanel.Title, p.RowPanel.GridPos)
			continue
		}
		place(p.Panel.Id, *p.Panel.Title, p.Panel.GridPos)
		assert.NotEmpty(t, *p.Panel.Description, *p.Panel.Title)
		assert.Equal(t, "${datasource}", *p.Panel.Datasource.Uid, *p.Panel.Title)
	}
	variables := make(map[string]bool)
	for _, v := range d.Templating.List {
		variables[v.Name] = true
	}
	for where, expr := range expressions(t, d) {
		for _, name := range regexp.MustCompile(`\$\{?(\w+)`).FindAllStringSubmatch(expr, -1) {
			assert.True(t, variables[name[1]], "%s uses $%s", where, name[1])
		}
	}
}

// The heat map has a line for each partition and shows values as they are: no
// buckets are computed from them.
func TestHeatMap(t *testing.T) {
	n := 0
	for _, p := range panels(t, load(t)) {
		if p.Type != "heatmap" {
			continue
		}
		n++
		o, ok := p.Options.(*heatmap.Options)
		require.True(t, ok, "%T", p.Options)
		assert.False(t, *o.Calculate)
		assert.Equal(t, "unknown", string(*o.RowsFrame.Layout))
		require.Len(t, p.Targets, 1)
	}
	assert.Equal(t, 1, n)
}

// What Grafana reads at its start.
func TestProvisioning(t *testing.T) {
	var sources struct {
		APIVersion  int `yaml:"apiVersion"`
		Datasources []struct {
			Name, UID, Type, Access, URL string
			IsDefault                    bool              `yaml:"isDefault"`
			JSONData                     map[string]string `yaml:"jsonData"`
		}
	}
	strict(t, "provisioning/datasources/prometheus.yml", &sources)
	require.Len(t, sources.Datasources, 1)
	assert.Equal(t, "prometheus", sources.Datasources[0].Type)
	var boards struct {
		APIVersion int `yaml:"apiVersion"`
		Providers  []struct {
			Name, Folder, Type string
			Options            struct{ Path string }
		}
	}
	strict(t, "provisioning/dashboards/sparkstate.yml", &boards)
	require.Len(t, boards.Providers, 1)
	assert.Equal(t, "$SPARKSTATE_DASHBOARDS", boards.Providers[0].Options.Path)
}

func strict(t *testing.T, name string, to any) {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	d := yaml.NewDecoder(strings.NewReader(string(text)))
	d.KnownFields(true)
	require.NoError(t, d.Decode(to), name)
}
