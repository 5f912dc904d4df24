package siterules

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// Form has the fields of a rule that a form shows, as texts; "": the rule does not give the field.
type Form struct {
	Match    string // one pattern a line
	Delay    string
	Headers  string // "Name: value", one a line; without a value the header is taken away
	Cookies  string
	Auth     string // basic, bearer or none
	Secret   string // of Auth: its name
	Proxy    string // one a line, or none
	MaxPages string
	MaxDepth string
	Render   string
}

// formFields are the fields of a Form, in the order in which a new rule has them.
var formFields = []string{"match", "delay", "headers", "auth", "cookies", "proxy", "max-pages",
	"max-depth", "render"}

// text is the value of a field; for auth it is "basic NAME".
func (f *Form) text(field string) string {
	switch field {
	case "match":
		return f.Match
	case "delay":
		return f.Delay
	case "headers":
		return f.Headers
	case "cookies":
		return f.Cookies
	case "auth":
		return strings.TrimSpace(f.Auth + " " + f.Secret)
	case "proxy":
		return f.Proxy
	case "max-pages":
		return f.MaxPages
	case "max-depth":
		return f.MaxDepth
	case "render":
		return f.Render
	}
	panic("BUG: no field of a form: " + field)
}

// take puts the value of a field into the form.
func (f *Form) take(field string, value *yaml.Node) {
	switch field {
	case "match":
		f.Match = list(value)
	case "delay":
		f.Delay = value.Value
	case "headers":
		f.Headers = mapping(value)
	case "cookies":
		f.Cookies = value.Value
	case "auth":
		f.Auth = value.Value
		if len(value.Content) == 2 {
			f.Auth = value.Content[0].Value
			f.Secret = strings.TrimPrefix(value.Content[1].Value, secretMark)
		}
	case "proxy":
		f.Proxy = list(value)
	case "max-pages":
		f.MaxPages = value.Value
	case "max-depth":
		f.MaxDepth = value.Value
	case "render":
		f.Render = value.Value
	}
}

// secretMark stands before the name of a secret.
const secretMark = "secret:"

// list is a value or a list of them, one a line.
func list(value *yaml.Node) string {
	if value.Kind != yaml.SequenceNode {
		return value.Value
	}
	texts := make([]string, len(value.Content))
	for i, item := range value.Content {
		texts[i] = item.Value
	}
	return strings.Join(texts, "\n")
}

// mapping is a value by name, one a line.
func mapping(value *yaml.Node) string {
	var lines []string
	for i := 0; i+1 < len(value.Content); i += 2 {
		line := value.Content[i].Value + ":"
		if v := value.Content[i+1]; v.Tag != "!!null" {
			line += " " + v.Value
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// node is the value of a field in YAML; nil: the form does not give it.
func (f *Form) node(field string) *yaml.Node {
	text := f.text(field)
	if text == "" {
		return nil
	}
	switch field {
	case "match", "proxy":
		lines := linesOf(text)
		if len(lines) == 1 {
			return scalar(lines[0])
		}
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for _, line := range lines {
			n.Content = append(n.Content, scalar(line))
		}
		return n
	case "headers":
		n := &yaml.Node{Kind: yaml.MappingNode}
		for _, line := range linesOf(text) {
			name, value, _ := strings.Cut(line, ":")
			v := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
			if value = strings.TrimSpace(value); value != "" {
				v = scalar(value)
			}
			n.Content = append(n.Content, scalar(strings.TrimSpace(name)), v)
		}
		return n
	case "auth":
		if f.Secret == "" {
			return scalar(f.Auth)
		}
		return &yaml.Node{Kind: yaml.MappingNode,
			Content: []*yaml.Node{scalar(f.Auth), scalar(secretMark + f.Secret)}}
	}
	return scalar(text)
}

// scalar is a plain value; it is quoted when a reader of YAML would take it for nothing.
func scalar(text string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Value: text}
	switch text {
	case "", "~", "null", "Null", "NULL":
		n.Tag = "!!str"
	}
	return n
}

// linesOf are the lines of a field that are not empty.
func linesOf(text string) (lines []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// Trim removes what is around the values: spaces, empty lines, carriage returns.
func (f *Form) Trim() {
	for _, text := range []*string{&f.Match, &f.Delay, &f.Headers, &f.Cookies, &f.Auth, &f.Secret,
		&f.Proxy, &f.MaxPages, &f.MaxDepth, &f.Render} {
		*text = strings.Join(linesOf(*text), "\n")
	}
	f.Secret = strings.TrimPrefix(f.Secret, secretMark)
}
