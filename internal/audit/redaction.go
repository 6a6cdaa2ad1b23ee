package audit

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

type effects struct {
	Effects []phases.Effect `json:"effects"`
}

// redact redacts the members of one event and remembers the first error.
type redaction struct {
	b   *Builder
	e   *phases.Event
	err error
}

func (c *redaction) value(raw []byte, err error, digest *string, use Use, at string) jsontext.Value {
	if err != nil {
		c.fail(err)
		return nil
	}
	*digest = c.b.Digester.Digest(use, raw)
	redacted, masked, err := c.b.Redactor.JSON(raw)
	if err != nil {
		c.fail(err)
		return nil
	}
	for _, m := range masked {
		c.e.Masked = append(c.e.Masked, at+m)
	}
	return redacted
}

func (c *redaction) output(raw []byte, err error) {
	c.e.Output = c.value(raw, err, &c.e.OutputDigest, UseOutput, "/output")
}

// effects redacts the values of rewrites in the place where they would stand: a
// name or a mask that makes a value secret in the action does so in the effect.
func (c *redaction) effects(list []phases.Effect) []phases.Effect {
	out := slices.Clone(list)
	for i := range out {
		if out[i].Kind != phases.EffectRewrite || out[i].Value == nil || phases.CheckPointer(out[i].Path) != nil {
			continue
		}
		placed, err := place(out[i].Path, out[i].Value)
		if err != nil {
			c.fail(err)
			return nil
		}
		redacted, masked, err := c.b.Redactor.JSON(placed)
		if err != nil {
			c.fail(err)
			return nil
		}
		if len(masked) == 0 {
			continue
		}
		// A mask may have redacted a member above: then there is nothing left at the path.
		v, ok := phases.Get(redacted, "/action"+out[i].Path)
		if !ok {
			v = jsontext.Value(`"[redacted]"`)
		}
		out[i].Value = v
		c.e.Masked = append(c.e.Masked, "/output/effects/"+strconv.Itoa(i)+"/value")
	}
	return out
}

// place returns {"action": …} with the value where the pointer says.
func place(ptr string, value jsontext.Value) (jsontext.Value, error) {
	var tokens []string
	if ptr != "" {
		tokens = strings.Split(ptr, "/")[1:]
	}
	v := value
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	for i := len(tokens) - 1; i >= 0; i-- {
		next, err := json.Marshal(map[string]jsontext.Value{unescape.Replace(tokens[i]): v})
		if err != nil {
			return nil, err
		}
		v = next
	}
	return json.Marshal(map[string]jsontext.Value{"action": v})
}

// text redacts first and cleans after: a secret split by characters that cleaning
// drops would otherwise be put together again behind the redactor's back, so
// cleaned text is redacted once more when cleaning changed it.
func (c *redaction) text(s string, limit int) string {
	if s == "" {
		return ""
	}
	redacted, err := c.b.Redactor.Text(strings.ToValidUTF8(s, "\uFFFD"))
	if err != nil {
		c.fail(err)
		return hidden
	}
	clean := phases.SafeText(redacted, limit)
	if clean == redacted {
		return clean
	}
	if redacted, err = c.b.Redactor.Text(clean); err != nil {
		c.fail(err)
		return hidden
	}
	return phases.SafeText(redacted, limit)
}

func (c *redaction) texts(in []string, limit int) []string {
	var out []string
	for i, s := range in {
		if i == maxNotes {
			out = append(out, strconv.Itoa(len(in)-i)+" more are not stored")
			break
		}
		out = append(out, c.text(s, limit))
	}
	return out
}

// pointers redacts names of members as they are redacted where the members stand.
func (c *redaction) pointers(in []string) []string {
	out := slices.Clone(in)
	for i, ptr := range in {
		redacted, err := c.b.Redactor.Text(ptr)
		if err != nil {
			c.fail(err)
			return nil
		}
		out[i] = redacted
	}
	return out
}

func (c *redaction) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// blind redacts everything.
type blind struct{}

func (blind) JSON(jsontext.Value) (jsontext.Value, []string, error) { return nil, nil, nil }
func (blind) Text(string) (string, error)                           { return hidden, nil }
