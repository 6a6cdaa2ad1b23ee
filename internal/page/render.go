package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"maps"
)

// layout is what surrounds the parts of a page: "title", "summary", "details" and "notes".
//
//go:embed layout.html
var layout string

// style is the one style sheet. It has the colours of a light screen, a dark one and paper.
//
//go:embed style.css
var style string

// policy lets a page apply its own style sheet and nothing else. No element has a style of its own: the browser
// would refuse it.
func policy() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; form-action 'none'"
}

// Render returns the page of a report. parts defines the templates that layout.html names; funcs are functions of
// theirs beside those of this package. The same data gives the same bytes.
func Render(parts string, funcs template.FuncMap, data any) ([]byte, error) {
	all := template.FuncMap{
		"css":    func() template.CSS { return template.CSS(style) },
		"policy": policy,
		"count":  Count, "short": Short, "bytes": Bytes, "micros": Micros, "plural": Plural, "visible": Visible,
		"bar": Bar, "meter": Meter,
	}
	maps.Copy(all, funcs)
	t, err := template.New("layout").Funcs(all).Parse(layout)
	if err != nil {
		return nil, err
	}
	if t, err = t.Parse(parts); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, "layout", data); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
