package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"
)

var (
	//go:embed page.html
	pageText string
	//go:embed style.css
	styleText string
)

// style is the style sheet as it stands in the page, and policy the
// Content-Security-Policy that allows it and nothing else: no script, no image,
// font or frame, no address to send anything to.
var (
	style  = template.CSS("\n" + styleText)
	policy = func() string {
		sum := sha256.Sum256([]byte(style))
		return fmt.Sprintf("default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; form-action 'none'", base64.StdEncoding.EncodeToString(sum[:]))
	}()
)

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"count": Count, "bytes": Bytes, "percent": Percent, "ratio": Ratio, "plural": Plural, "quantity": quantity,
	"known": func(v float64) bool { return !unknown(v) },
	"whole": func(n int) float64 { return float64(n) },
	"large": func(n int64) float64 { return float64(n) },
}).Parse(unindented(pageText)))

// unindented takes the indentation out: a table of ten thousand cells would
// otherwise be mostly blanks.
func unindented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimLeft(line, "\t"))
	}
	return b.String()
}

// WriteHTML writes the page. Nothing is written where it cannot be made.
func (p *Page) WriteHTML(w io.Writer) error {
	var b bytes.Buffer
	if err := page.Execute(&b, p.view()); err != nil {
		return fmt.Errorf("making the page: %w", err)
	}
	_, err := w.Write(b.Bytes())
	return err
}
