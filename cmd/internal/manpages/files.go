package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cpuguy83/go-md2man/v2/md2man"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/schema"
)

// member is what a page says about a part of a schema.
type member struct {
	Description string             `json:"description"`
	Type        jsontext.Value     `json:"type"` // a name, or several
	Enum        []jsontext.Value   `json:"enum"`
	Const       jsontext.Value     `json:"const"`
	Required    []string           `json:"required"`
	Properties  map[string]*member `json:"properties"`
	Items       *member            `json:"items"`
	Additional  jsontext.Value     `json:"additionalProperties"`
	Default     jsontext.Value     `json:"default"`
	Minimum     jsontext.Value     `json:"minimum"`
	Maximum     jsontext.Value     `json:"maximum"`
}

// pageName is the name of a file's page: that of the file where it has one of its own.
func pageName(f schema.File) string {
	if f.Name == "belay" {
		return "belay.yaml"
	}
	return "belay-" + f.Name
}

func filePageNames() []string {
	var out []string
	for _, f := range schema.Files() {
		out = append(out, pageName(f))
	}
	return out
}

// filePages makes the page of each YAML file.
func filePages(version string, date time.Time, pages map[string][]byte) error {
	for _, f := range schema.Files() {
		text, _ := schema.Of(f.Name)
		root := new(member)
		if err := json.Unmarshal(text, root); err != nil {
			return fmt.Errorf("schema %s: %w", f.Name, err)
		}
		name := pageName(f)
		var b strings.Builder
		fmt.Fprintf(&b, "%% %q \"5\" %q %q \"belay\"\n", strings.ToUpper(name), date.Format(time.DateOnly), sourceOf(version))
		fmt.Fprintf(&b, "# NAME\n%s \\- %s\n\n# DESCRIPTION\n", escaped(name), inline(strings.TrimPrefix(f.Of, name+": ")))
		fmt.Fprintf(&b, "%s\n\n", inline("The members of the file, by their paths: `[]` stands for each element of a list, "+
			"`*` for a name of your own. `belay schema "+f.Name+"` prints the schema, for editors. "+
			"belay's own check is stricter."))
		b.WriteString("# MEMBERS\n")
		root.describe(&b, "")
		fmt.Fprintf(&b, "# SEE ALSO\n**belay(1)**, **belay-schema(1)**\n")
		pages[filepath.Join("man5", name+".5")] = md2man.Render([]byte(b.String()))
	}
	return nil
}

// describe writes the members below a path.
func (m *member) describe(b *strings.Builder, path string) {
	names := make([]string, 0, len(m.Properties))
	for name := range m.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		p := m.Properties[name]
		at := strings.TrimPrefix(path+"."+name, ".")
		fmt.Fprintf(b, "**%s**\n:   %s\n\n", escaped(at), inline(p.says(slices.Contains(m.Required, name))))
		p.below(b, at)
	}
}

// below writes what elements and members of one's own hold.
func (m *member) below(b *strings.Builder, at string) {
	m.describe(b, at)
	if m.Items != nil {
		m.Items.below(b, at+"[]")
	}
	if m.Additional.Kind() == '{' {
		of := new(member)
		if json.Unmarshal(m.Additional, of) == nil {
			of.below(b, at+".*")
		}
	}
}

// says is what a page tells of a member, in words.
func (m *member) says(required bool) string {
	var parts []string
	if m.Description != "" {
		parts = append(parts, m.Description)
	}
	if values := m.values(); values != "" {
		parts = append(parts, values)
	} else if kind := strings.Trim(strings.NewReplacer(`"`, "", ",null", "", "[", "", "]", "", ",", " or ").
		Replace(strings.ReplaceAll(string(m.Type), " ", "")), "\n"); kind != "" {
		parts = append(parts, strings.Join(strings.Fields(kind), " "))
	}
	switch {
	case m.Minimum != nil && m.Maximum != nil:
		parts = append(parts, fmt.Sprintf("%s to %s", m.Minimum, m.Maximum))
	case m.Minimum != nil:
		parts = append(parts, "at least "+string(m.Minimum))
	case m.Maximum != nil:
		parts = append(parts, "at most "+string(m.Maximum))
	}
	if m.Default != nil {
		parts = append(parts, "default "+string(m.Default))
	}
	if required {
		parts = append(parts, "required")
	}
	if parts == nil {
		return "anything"
	}
	return strings.Join(parts, "; ")
}

func (m *member) values() string {
	var list []string
	for _, v := range m.Enum {
		list = append(list, strings.Trim(string(v), `"`))
	}
	if m.Const != nil {
		list = append(list, strings.Trim(string(m.Const), `"`))
	}
	return strings.Join(list, ", ")
}
