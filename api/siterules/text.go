package siterules

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Text is a text of rules with the places of the rules in it. It is immutable.
type Text struct {
	lines []string // with their ends
	root  *yaml.Node
	rules []*yaml.Node
}

// Rule is one rule of a text.
type Rule struct {
	Number int // its place in the list, from 0
	Line   int // its first, from 1
	Match  []string
	Others []Value // its other fields
	Form   Form
}

// Value is a field of a rule with its value in one line.
type Value struct{ Field, Text string }

// errWriting is the advice when the text is written in a way that is not edited here.
var errWriting = errors.New("it is written in a way that the form does not know: " +
	"change it in the text")

// Read finds the rules of a text that config.ParseSites accepts.
func Read(text string) (*Text, error) {
	t := &Text{lines: strings.SplitAfter(text, "\n")}
	if last := len(t.lines) - 1; t.lines[last] == "" {
		t.lines = t.lines[:last]
	} else {
		t.lines[last] += "\n"
	}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return nil, fmt.Errorf("the rules are not YAML: %w", err)
	}
	if doc.Kind != yaml.DocumentNode || doc.Content[0].Tag == "!!null" {
		return t, nil
	}
	t.root = doc.Content[0]
	isOther := func(r *yaml.Node) bool { return r.Kind != yaml.MappingNode }
	if t.root.Kind != yaml.SequenceNode || slices.ContainsFunc(t.root.Content, isOther) {
		return nil, errors.New("the rules are not a list of rules")
	}
	t.rules = t.root.Content
	return t, nil
}

// Len is the number of rules.
func (t *Text) Len() int { return len(t.rules) }

// Rule describes a rule.
func (t *Text) Rule(number int) Rule {
	r := Rule{Number: number, Line: t.rules[number].Line}
	for key, value := range fieldsOf(t.rules[number]) {
		r.Form.take(key.Value, value)
		if key.Value == "match" {
			r.Match = linesOf(list(value))
			continue
		}
		r.Others = append(r.Others, Value{key.Value, short(key.Value, value)})
	}
	return r
}

// short is the value of a field in one line.
func short(field string, value *yaml.Node) string {
	switch {
	case field == "headers":
		return strings.Join(linesOf(mapping(value)), "; ")
	case len(value.Content) > 0 && value.Kind == yaml.MappingNode:
		return strings.Join(linesOf(mapping(value)), ", ")
	}
	return strings.Join(linesOf(list(value)), ", ")
}

// fieldsOf yields the keys and values of a mapping.
func fieldsOf(n *yaml.Node) func(yield func(key, value *yaml.Node) bool) {
	return func(yield func(key, value *yaml.Node) bool) {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i], n.Content[i+1]) {
				return
			}
		}
	}
}

// Add returns the text with a rule more, at its end.
func (t *Text) Add(f *Form) (string, error) {
	indent := 0
	if t.root != nil {
		if t.root.Style&yaml.FlowStyle != 0 {
			return "", fmt.Errorf("the list of rules stands in brackets: %w", errWriting)
		}
		indent = t.root.Column - 1
	}
	rule, err := written(f, indent)
	if err != nil {
		return "", err
	}
	return t.checked(append(slices.Clone(t.lines), rule...), len(t.rules), 1)
}

// written is a rule of a form, as an item of a list.
func written(f *Form, indent int) ([]string, error) {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for _, field := range formFields {
		if value := f.node(field); value != nil {
			n.Content = append(n.Content, scalar(field), value)
		}
	}
	return encoded(&yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{n}}, indent)
}

// encoded is a node as lines, indented.
func encoded(n *yaml.Node, indent int) ([]string, error) {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := errors.Join(enc.Encode(n), enc.Close()); err != nil {
		return nil, fmt.Errorf("the rule cannot be written: %w", err)
	}
	var lines []string
	for line := range strings.Lines(b.String()) {
		lines = append(lines, strings.Repeat(" ", indent)+line)
	}
	return lines, nil
}

// Remove returns the text without a rule. Comments beside it stay.
func (t *Text) Remove(number int) (string, error) {
	first, end, err := t.place(number)
	if err != nil {
		return "", err
	}
	return t.checked(slices.Delete(slices.Clone(t.lines), first, end), number, -1)
}

// Change returns the text with the form's values in a rule. A field whose value is the one that the
// rule has stays as it is written.
func (t *Text) Change(number int, f *Form) (string, error) {
	first, end, err := t.place(number)
	if err != nil {
		return "", err
	}
	rule, was := t.rules[number], t.Rule(number).Form
	lines := slices.Clone(t.lines)
	if rule.Style&yaml.FlowStyle != 0 {
		anew, err := t.anew(rule, &was, f)
		if err != nil {
			return "", err
		}
		return t.checked(slices.Replace(lines, first, end, anew...), number, 0)
	}
	indent := rule.Content[0].Column - 1
	for _, field := range formFields { // new ones
		if value := f.node(field); value != nil && was.text(field) == "" && !gives(rule, field) {
			more, err := pairLines(field, value, indent)
			if err != nil {
				return "", err
			}
			lines = slices.Insert(lines, end, more...)
			end += len(more)
		}
	}
	for i := len(rule.Content) - 2; i >= 0; i -= 2 { // from below: the places of those above stay
		key := rule.Content[i]
		if !slices.Contains(formFields, key.Value) || f.text(key.Value) == was.text(key.Value) {
			continue
		}
		if lines, err = t.replace(lines, number, i, f.node(key.Value)); err != nil {
			return "", err
		}
	}
	return t.checked(lines, number, 0)
}

func gives(rule *yaml.Node, field string) bool {
	for key := range fieldsOf(rule) {
		if key.Value == field {
			return true
		}
	}
	return false
}

// anew writes a rule that stood within braces.
func (t *Text) anew(rule *yaml.Node, was, f *Form) ([]string, error) {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for key, value := range fieldsOf(rule) {
		if slices.Contains(formFields, key.Value) && f.text(key.Value) != was.text(key.Value) {
			if value = f.node(key.Value); value == nil {
				continue
			}
		}
		if commented(key) || commented(value) {
			return nil, fmt.Errorf("there are comments within the braces of the rule: %w",
				errWriting)
		}
		n.Content = append(n.Content, key, value)
	}
	for _, field := range formFields {
		if value := f.node(field); value != nil && !gives(rule, field) {
			n.Content = append(n.Content, scalar(field), value)
		}
	}
	list := &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{n}}
	lines, err := encoded(list, t.root.Column-1)
	if err == nil && rule.LineComment != "" {
		lines[0] = strings.TrimRight(lines[0], "\n") + " " + rule.LineComment + "\n"
	}
	return lines, err
}

func commented(n *yaml.Node) bool {
	return n.HeadComment+n.LineComment+n.FootComment != "" ||
		slices.ContainsFunc(n.Content, commented)
}

// pairLines is a field as lines.
func pairLines(field string, value *yaml.Node, indent int) ([]string, error) {
	pair := []*yaml.Node{scalar(field), value}
	return encoded(&yaml.Node{Kind: yaml.MappingNode, Content: pair}, indent)
}

// place is where a rule stands: its lines are those from first up to end, without those of comments
// and empty ones behind it.
func (t *Text) place(number int) (first, end int, err error) {
	if number < 0 || number >= len(t.rules) {
		return 0, 0, errors.New("there is no such rule")
	}
	if t.root.Style&yaml.FlowStyle != 0 {
		return 0, 0, fmt.Errorf("the list of rules stands in brackets: %w", errWriting)
	}
	if first, err = t.dash(number); err != nil {
		return 0, 0, err
	}
	next := len(t.lines)
	if number+1 < len(t.rules) {
		if next, err = t.dash(number + 1); err != nil {
			return 0, 0, err
		}
	}
	return first, t.trimmed(first, next), nil
}

// trimmed is the end of the lines from first, without those of comments and empty ones before end.
func (t *Text) trimmed(first, end int) int {
	for end > first+1 {
		line := strings.TrimSpace(t.lines[end-1])
		if line != "" && line[0] != '#' && line != "..." {
			break
		}
		end--
	}
	return end
}

// dash is the line with the dash of a rule, from 0.
func (t *Text) dash(number int) (int, error) {
	rule := t.rules[number]
	for i := min(rule.Line, len(t.lines)) - 1; i >= 0; i-- {
		line, at := t.lines[i], t.root.Column-1
		if at < len(line) && line[at] == '-' && strings.TrimSpace(line[:at]) == "" {
			return i, nil
		}
		if text := strings.TrimSpace(line); i != rule.Line-1 && text != "" && text[0] != '#' {
			break
		}
	}
	return 0, fmt.Errorf("rule %d: %w", number+1, errWriting)
}

// replace puts a value in place of that of the field whose key is Content[at] of a rule; nil
// removes the field. lines are those of the text, changed below the field only.
func (t *Text) replace(lines []string, number, at int, value *yaml.Node) ([]string, error) {
	rule := t.rules[number]
	key, old := rule.Content[at], rule.Content[at+1]
	first := key.Line - 1
	_, end, err := t.place(number)
	if err != nil {
		return nil, err
	}
	following := at + 2 // the key behind
	if following < len(rule.Content) {
		end = rule.Content[following].Line - 1
	}
	if end <= first {
		return nil, fmt.Errorf("%s: two fields stand in one line: %w", key.Value, errWriting)
	}
	// head is spaces, or the dash of the rule.
	head := t.lines[first][:min(key.Column-1, len(t.lines[first]))]
	if value == nil {
		return cut(lines, first, t.trimmed(first, end), head)
	}
	anew, err := pairLines(key.Value, value, key.Column-1)
	if err != nil {
		return nil, err
	}
	anew[0] = head + strings.TrimLeft(anew[0], " ")
	if old.LineComment != "" && len(anew) == 1 {
		anew[0] = strings.TrimRight(anew[0], "\n") + " " + old.LineComment + "\n"
	}
	return slices.Replace(lines, first, t.trimmed(first, end), anew...), nil
}

// cut removes the field in some lines. When the dash of the rule stood before it, it moves to the
// field that follows now.
func cut(lines []string, first, end int, head string) ([]string, error) {
	if strings.TrimSpace(head) == "" {
		return slices.Delete(lines, first, end), nil
	}
	for i := end; i < len(lines); i++ {
		if line := strings.TrimSpace(lines[i]); line == "" || line[0] == '#' {
			continue
		}
		if line := lines[i]; len(line) > len(head) && strings.TrimSpace(line[:len(head)]) == "" {
			lines[i] = head + line[len(head):]
			return slices.Delete(lines, first, end), nil
		}
		break
	}
	return nil, errors.New("a rule needs a field")
}

// checked joins the lines of a changed text, in which more rules (or fewer) stand from a number on,
// and sees that all others are what they were.
func (t *Text) checked(lines []string, number, more int) (string, error) {
	text := strings.Join(lines, "")
	after, err := Read(text)
	if err != nil {
		return "", fmt.Errorf("%w (%w)", errWriting, err)
	}
	if len(after.rules) != len(t.rules)+more {
		return "", errWriting
	}
	for i, rule := range t.rules {
		j := i
		if i == number && more <= 0 {
			continue
		}
		if more < 0 && i > number {
			j--
		}
		if !same(rule, after.rules[j]) {
			return "", errWriting
		}
	}
	return text, nil
}

// same reports whether two nodes say the same.
func same(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && a.Tag == b.Tag && a.Value == b.Value &&
		slices.EqualFunc(a.Content, b.Content, same)
}
