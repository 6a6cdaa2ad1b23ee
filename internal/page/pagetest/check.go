// Package pagetest decides whether a page keeps what package page promises: text alone, nothing from elsewhere,
// and a structure that readers without eyes, without colours or without scripts can use.
package pagetest

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Check fails the test for each promise that a page breaks.
func Check(t testing.TB, page []byte) {
	t.Helper()
	root, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	c := &checker{TB: t, ids: map[string]bool{}}
	c.walk(root)
	for _, ref := range c.refs {
		if !c.ids[ref] {
			t.Errorf("nothing on the page has the id %q", ref)
		}
	}
	if c.headings == nil || c.headings[0] != 1 || slices.Contains(c.headings[1:], 1) {
		t.Errorf("a page begins with its one h1: %v", c.headings)
	}
	for i := 1; i < len(c.headings); i++ {
		if c.headings[i] > c.headings[i-1]+1 {
			t.Errorf("heading %d jumps a level: %v", i+1, c.headings)
		}
	}
	if !c.header || !c.language {
		t.Errorf("the page has no summary (%v) or says no language (%v)", c.header, c.language)
	}
	sum := sha256.Sum256([]byte(c.style))
	want := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; "
	if !strings.HasPrefix(c.policy, want) || strings.Contains(c.policy, "unsafe") {
		t.Errorf("the policy is %q, want one that begins with %q", c.policy, want)
	}
	for _, part := range []string{"prefers-color-scheme:dark", "@media print"} {
		if !strings.Contains(c.style, part) {
			t.Errorf("the style has no %s", part)
		}
	}
	for _, part := range []string{"url(", "@import", "@font-face", "expression("} {
		if strings.Contains(c.style, part) {
			t.Errorf("the style holds %s", part)
		}
	}
	for _, r := range string(page) {
		if r == '\u202e' || r == '\x1b' || r == '\u0000' {
			t.Errorf("the page holds the character %U", r)
		}
	}
}

type checker struct {
	testing.TB
	ids              map[string]bool
	refs             []string
	headings         []int
	style, policy    string
	header, language bool
}

// allowed are the elements of pages. None of them loads or runs anything.
func allowed() []string {
	return strings.Fields(`html head meta title style body main header footer section article h1 h2 h3 h4 p span b i br a
		code pre div ul ol li dl dt dd figure figcaption table caption thead tbody tr th td details summary
		svg g rect line circle path text tspan desc`)
}

func (c *checker) walk(n *html.Node) {
	if n.Type == html.ElementNode {
		c.element(n)
	}
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		c.walk(child)
	}
}

func (c *checker) element(n *html.Node) {
	if !slices.Contains(allowed(), n.Data) {
		c.Errorf("a page has no <%s>", n.Data)
	}
	at := map[string]string{}
	for _, a := range n.Attr {
		at[a.Key] = a.Val
		switch {
		case a.Key == "style", strings.HasPrefix(a.Key, "on"), a.Key == "src", a.Key == "xlink:href":
			c.Errorf("<%s> has the attribute %s=%q", n.Data, a.Key, a.Val)
		case a.Key == "href":
			id, ok := strings.CutPrefix(a.Val, "#")
			if !ok {
				c.Errorf("<%s> leads to %q", n.Data, a.Val)
			}
			c.refs = append(c.refs, id)
		case a.Key == "aria-labelledby", a.Key == "aria-describedby":
			c.refs = append(c.refs, strings.Fields(a.Val)...)
		case a.Key == "id":
			if c.ids[a.Val] {
				c.Errorf("two elements have the id %q", a.Val)
			}
			c.ids[a.Val] = true
		}
	}
	switch n.Data {
	case "html":
		c.language = at["lang"] == "en"
	case "meta":
		if at["http-equiv"] == "Content-Security-Policy" {
			c.policy = at["content"]
		}
	case "style":
		c.style += text(n)
	case "header":
		c.header = true
	case "h1", "h2", "h3", "h4":
		c.headings = append(c.headings, int(n.Data[1]-'0'))
	case "table":
		if first := firstElement(n); first == nil || first.DataAtom != atom.Caption || strings.TrimSpace(text(first)) == "" {
			c.Errorf("a table has no caption: %.80q", text(n))
		}
	case "th":
		if at["scope"] == "" {
			c.Errorf("<th>%s has no scope", text(n))
		}
	case "svg":
		if at["aria-hidden"] != "true" && (at["role"] != "img" || at["aria-labelledby"] == "") {
			c.Errorf("a picture has neither a name nor a table beside it")
		}
	}
}

func firstElement(n *html.Node) *html.Node {
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		if child.Type == html.ElementNode {
			return child
		}
	}
	return nil
}

func text(n *html.Node) string {
	if n.Type == html.TextNode {
		return n.Data
	}
	var b strings.Builder
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		b.WriteString(text(child))
	}
	return b.String()
}

// Hostile is a text that tries to leave its place on a page: as an element, an attribute, a style sheet, a
// template, and by characters that hide or turn text round.
const Hostile = `</style></title></td><script>alert(1)</script><img src=x onerror=alert(1)>` +
	`" onmouseover="x' style='a ` + "{{.}} ]]> --> \u202egnp.exe \x1b[2J &lt;b&gt; <svg/onload=x>"
