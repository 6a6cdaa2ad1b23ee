package audit

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// apart redacts what a hook wrote that is kept apart. A text that such a hook calls a secret is redacted in what it
// wrote, and nowhere else: a hook of others would read its own metadata and state otherwise than it wrote them. Secrets
// of the record are redacted here as everywhere.
type apart struct{ own, record Redactor }

// JSON implements Redactor.
func (a apart) JSON(raw jsontext.Value) (jsontext.Value, []string, error) {
	redacted, own, err := a.own.JSON(raw)
	if err != nil {
		return nil, nil, err
	}
	redacted, masked, err := a.record.JSON(redacted)
	if err != nil {
		return nil, nil, err
	}
	masked = slices.Concat(own, masked)
	slices.Sort(masked)
	return redacted, slices.Compact(masked), nil
}

// Text implements Redactor.
func (a apart) Text(s string) (string, error) {
	redacted, err := a.own.Text(s)
	if err != nil {
		return "", err
	}
	return a.record.Text(redacted)
}

// Apart is the Builder for what one hook wrote that is kept apart.
func (b *Builder) Apart() *Builder {
	out := *b
	if b.Fresh != nil {
		out.Redactor = apart{b.Fresh.Remember(), b.Redactor}
	}
	return &out
}

// Entry redacts a value that a hook wrote into a run's metadata, as it stands in a record: by the name of its key, too.
func (b *Builder) Entry(key string, entry phases.Entry) (redacted jsontext.Value, masked bool, err error) {
	type output struct {
		Metadata phases.Metadata `json:"metadata"`
	}
	raw, err := encoded(output{phases.Metadata{key: entry}})
	if err != nil {
		return nil, false, err
	}
	doc, masks, err := b.Redactor.JSON(raw)
	if err != nil || len(masks) == 0 {
		return entry.Value, false, err
	}
	value, ok := phases.Get(doc, phases.Join("/metadata", key, "value"))
	if !ok {
		value = jsontext.Value(`"[redacted]"`)
	}
	return value, true, nil
}
