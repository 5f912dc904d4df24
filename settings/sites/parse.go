package sites

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
	"golang.org/x/net/publicsuffix"

	"crawlnode/crawl"
	"crawlnode/web/scope"
	"crawlnode/web/urlnorm"
)

const (
	// MaxBytes bounds the text of a file: the crawl document, which has it, is sent in one message.
	MaxBytes = crawl.MaxSitesBytes
	// maxRules, maxMatches and maxHeaders bound what a file can make a node do.
	maxRules   = 100_000
	maxMatches = 10_000
	maxHeaders = 64
	// What a pattern costs: its text, and the instructions of a regular expression. A text has at most
	// so many instructions, and so many patterns that are tried on every URL.
	maxPattern      = 2 << 10
	maxInstructions = 2_000
	maxProgram      = 200_000
	maxFree         = 1_000
	// maxProblems is how many problems are listed.
	maxProblems = 50
)

// Problem is one thing that is wrong with a file.
type Problem struct {
	Line int // from 1; 0: of the whole file
	Text string
}

func (p Problem) Error() string {
	if p.Line == 0 {
		return p.Text
	}
	return fmt.Sprintf("line %d: %s", p.Line, p.Text)
}

// Fields lists the fields of a rule, in the order in which they are shown. Settings reports for
// each whether it is a setting of the crawl.
func Fields() []string {
	return []string{"delay", "retries", "timeout", "header-timeout", "max-body", "max-pages",
		"max-depth",
		"priority", "render", "user-agent", "robots-agent", "headers", "cookies", "cookies-file", "auth",
		"insecure", "proxy", "source-address", "recrawl-min", "recrawl-max", "recrawl-worth",
		"include", "exclude", "index"}
}

// SettingOf is the name of the setting of the crawl that a field of a rule overrides, which is that
// of its flag; "": there is none.
func SettingOf(field string) string {
	switch field {
	case "max-pages":
		return "max-pages-per-host"
	case "priority", "headers", "cookies-file", "auth", "insecure", "source-address":
		return ""
	}
	return field
}

// Checks are what Parse asks others. Neither may be nil.
type Checks struct {
	// Suggest returns the known name that is most similar to an unknown one; "": none is.
	Suggest func(unknown string, known []string) string
	// Setting checks a value of a setting of the crawl; list says that there may be several.
	Setting func(s Setting) error
	// Header checks a line of a request's head.
	Header func(name, value string) error
}

// Parse reads a file. The problems are all that is wrong with it, the first fifty of them.
func Parse(text []byte, checks Checks) (*File, []Problem) {
	p := &parser{checks: checks, file: &File{}}
	if len(text) > MaxBytes {
		p.wrong(0, "the file has %d bytes: %d are allowed", len(text), MaxBytes)
		return nil, p.problems
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return p.file, nil // nothing but comments
	} else if err != nil {
		p.notYAML(err)
		return nil, p.problems
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		p.wrong(0, "has more than one YAML document: keep the first")
		return nil, p.problems
	}
	if p.controls(doc.Content[0]); len(p.problems) == 0 {
		p.root(doc.Content[0])
	}
	if len(p.problems) > 0 {
		return nil, p.problems
	}
	return p.file, nil
}

// parser collects rules and problems.
type parser struct {
	checks   Checks
	file     *File
	problems []Problem
	program  int // instructions of all regular expressions
	free     int // patterns that are tried on every URL
}

func (p *parser) wrong(line int, format string, args ...any) {
	if len(p.problems) < maxProblems {
		p.problems = append(p.problems, Problem{line, fmt.Sprintf(format, args...)})
	}
}

// notYAML reports what the decoder says, which begins with the line when it knows it.
func (p *parser) notYAML(err error) {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 0
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		number, what, _ := strings.Cut(rest, ": ")
		if n, err := strconv.Atoi(number); err == nil {
			line, text = n, what
		}
	}
	p.wrong(line, "is not YAML: %s", text)
}

// controls refuses control characters in names and values. YAML can write them as escapes, and no
// value of a field has a meaning with one. The line end of a block scalar is taken away.
func (p *parser) controls(node *yaml.Node) {
	if node.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		node.Value = strings.TrimRight(node.Value, "\n")
	}
	if node.Kind == yaml.ScalarNode && strings.ContainsFunc(node.Value, unicode.IsControl) {
		p.wrong(node.Line, "%q has a control character in it", shortened(node.Value))
	}
	for _, child := range node.Content {
		p.controls(child)
	}
}

// shortened bounds a value that a problem quotes.
func shortened(value string) string {
	if len(value) > 60 {
		return strings.ToValidUTF8(value[:60], "") + "..."
	}
	return value
}

func (p *parser) root(root *yaml.Node) {
	switch {
	case root.Kind == yaml.ScalarNode && root.Tag == "!!null":
		return
	case root.Kind != yaml.SequenceNode:
		p.wrong(root.Line, "the file must be a list of rules, each beginning with `- match: host:NAME`")
		return
	case len(root.Content) > maxRules:
		p.wrong(0, "the file has %d rules: %d are allowed", len(root.Content), maxRules)
		return
	}
	for _, node := range root.Content {
		if node.Kind != yaml.MappingNode {
			p.wrong(node.Line,
				"a rule is a list of `field: value` lines, beginning with `- match: host:NAME`")
			continue
		}
		if r := p.rule(node); r != nil {
			p.file.Rules = append(p.file.Rules, r)
		}
	}
}

func (p *parser) rule(node *yaml.Node) *Rule {
	r := &Rule{Line: node.Line, has: map[string]int{}}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if line, twice := r.has[key.Value]; twice {
			p.wrong(key.Line, "%s: is already on line %d: remove one of them", key.Value, line)
			continue
		}
		r.has[key.Value] = key.Line
		if value.Kind == yaml.AliasNode {
			p.wrong(value.Line, "%s: *%s: write the value itself, not an alias", key.Value, value.Value)
			continue
		}
		p.field(r, key, value)
	}
	if _, ok := r.has["match"]; !ok {
		p.wrong(node.Line,
			"the rule has no match: write `match: host:NAME`, or domain:, prefix:, glob: or regex:")
	}
	delete(r.has, "match")
	p.bind(r)
	return r
}

// bind requires that what needs a secret is bound to hosts.
func (p *parser) bind(r *Rule) {
	if !r.NeedsSecret() {
		return
	}
	for i := range r.Matches {
		if m := &r.Matches[i]; m.below && isPublicSuffix(m.host) {
			p.wrong(r.Line, "match: %s: %s would go to the hosts of many owners: name the hosts of one",
				m.Text, strings.Join(r.secretFields(), " and "))
		} else if !m.NamesHosts() {
			p.wrong(r.Line, "match: %s: a rule with %s must name hosts, with host: or domain:, "+
				"so that no other host gets the secret", m.Text, strings.Join(r.secretFields(), " and "))
		}
	}
}

// isPublicSuffix reports whether hosts below a name belong to different owners. A name that no list
// has, as those of private networks, is an owner's.
func isPublicSuffix(name string) bool {
	suffix, icann := publicsuffix.PublicSuffix(name)
	return suffix == name && (icann || strings.Contains(suffix, "."))
}

// secretFields are the fields that need secrets.
func (r *Rule) secretFields() (fields []string) {
	if r.Own.Auth.Secret != "" {
		fields = append(fields, "auth")
	}
	if r.Own.CookiesFile != "" {
		fields = append(fields, "cookies-file")
	}
	if slices.ContainsFunc(r.Own.Headers, func(h Header) bool { return h.Secret != "" }) {
		fields = append(fields, "a secret header")
	}
	return fields
}

func (p *parser) field(r *Rule, key, value *yaml.Node) {
	name := key.Value
	if name == "match" {
		p.match(r, value)
		return
	}
	if !slices.Contains(Fields(), name) {
		if s := p.checks.Suggest(name, append(Fields(), "match")); s != "" {
			p.wrong(key.Line, "unknown field %q; did you mean %q?", name, s)
		} else {
			p.wrong(key.Line, "unknown field %q; the fields are %s", name, strings.Join(Fields(), ", "))
		}
		return
	}
	if value.Kind == yaml.ScalarNode && value.Tag == "!!null" {
		p.wrong(value.Line, "%s: has no value: write one or remove the line", name)
		return
	}
	if SettingOf(name) == "" {
		if err := p.own(r, name, value); err != nil {
			p.wrong(value.Line, "%s: %v", name, err)
		}
		return
	}
	list, err := texts(value)
	if err == nil && (name == "include" || name == "exclude") {
		for _, text := range list {
			err = errors.Join(err, p.affordable(text))
		}
	}
	if err == nil {
		s := Setting{Field: name, Line: value.Line, Texts: list}
		if err = p.checks.Setting(s); err == nil {
			r.Settings = append(r.Settings, s)
		}
	}
	if err != nil {
		p.wrong(value.Line, "%s: %v", name, err)
	}
}

// texts reads a scalar or a list of scalars as it was written.
func texts(value *yaml.Node) ([]string, error) {
	switch value.Kind {
	case yaml.ScalarNode:
		return []string{value.Value}, nil
	case yaml.SequenceNode:
		list := make([]string, 0, len(value.Content))
		for _, item := range value.Content {
			if item.Kind != yaml.ScalarNode || item.Tag == "!!null" {
				return nil, errors.New("the list may contain plain values only")
			}
			list = append(list, item.Value)
		}
		return list, nil
	}
	return nil, errors.New("takes a plain value, or a list of them")
}

// one reads a scalar.
func one(value *yaml.Node) (string, error) {
	if value.Kind != yaml.ScalarNode || value.Tag == "!!null" {
		return "", errors.New("takes one plain value")
	}
	return value.Value, nil
}

// own reads a field that only sites have.
func (p *parser) own(r *Rule, name string, value *yaml.Node) (err error) {
	switch name {
	case "headers":
		return p.headers(r, value)
	case "auth":
		r.Own.Auth, err = auth(value)
		return err
	}
	text, err := one(value)
	if err != nil {
		return err
	}
	switch name {
	case "cookies-file":
		if text != none {
			r.Own.CookiesFile, err = secret(text)
		}
	case "source-address":
		if text != none {
			r.Own.Source, err = netip.ParseAddr(text)
		}
		if err != nil || r.Own.Source.Zone() != "" || r.Own.Source.Is4In6() {
			err = fmt.Errorf("%q is not an IP address: write one of this machine's, or none", text)
		}
	case "priority":
		r.Own.Priority, err = strconv.ParseFloat(text, 64)
		// NaN too
		if err != nil || strings.Trim(text, "0123456789.eE+-") != "" ||
			!(r.Own.Priority >= 0 && r.Own.Priority <= 1) {
			err = fmt.Errorf("%q is not a number from 0 to 1, which is first", text)
		}
	case "insecure":
		if r.Own.Insecure, err = strconv.ParseBool(text); err != nil {
			err = fmt.Errorf("%q is neither true nor false", text)
		}
	}
	return err
}

// none is the value that takes away what an earlier rule gave.
const none = "none"

// secret reads the name of a secret.
func secret(text string) (string, error) {
	name, ok := strings.CutPrefix(text, "secret:")
	if !ok || !isSecretName(name) {
		return "", errors.New("must be secret:NAME, with the name of a line of the file of --secrets: " +
			"a password must not stand here")
	}
	return name, nil
}

// isSecretName reports whether a line of a secrets file can have this name.
func isSecretName(name string) bool {
	for i := range len(name) {
		c := name[i]
		if !('a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '.') {
			return false
		}
	}
	return name != "" && len(name) <= 128
}

// auth reads {basic: secret:NAME} or {bearer: secret:NAME}.
func auth(value *yaml.Node) (Auth, error) {
	usage := errors.New("write {basic: secret:NAME} or {bearer: secret:NAME}, or none")
	if value.Kind == yaml.ScalarNode && value.Value == none {
		return Auth{}, nil
	}
	if value.Kind != yaml.MappingNode || len(value.Content) != 2 {
		return Auth{}, usage
	}
	scheme := value.Content[0].Value
	if scheme != Basic && scheme != Bearer {
		return Auth{}, fmt.Errorf("%q is no scheme: %w", scheme, usage)
	}
	text, err := one(value.Content[1])
	if err != nil {
		return Auth{}, usage
	}
	name, err := secret(text)
	return Auth{scheme, name}, err
}

// headers reads a mapping of names to values; null takes a header away.
func (p *parser) headers(r *Rule, value *yaml.Node) error {
	if value.Kind == yaml.ScalarNode && value.Value == none {
		return errors.New("take each header away by its name, as {Accept-Language: null}")
	}
	if value.Kind != yaml.MappingNode {
		return errors.New("write {Name: value}")
	}
	if len(value.Content)/2 > maxHeaders {
		return fmt.Errorf("has %d headers: %d are allowed", len(value.Content)/2, maxHeaders)
	}
	for i := 0; i+1 < len(value.Content); i += 2 {
		key, v := value.Content[i], value.Content[i+1]
		h := Header{Name: key.Value, Line: key.Line}
		switch {
		case slices.ContainsFunc(r.Own.Headers, func(o Header) bool {
			return strings.EqualFold(o.Name, h.Name)
		}):
			p.wrong(key.Line, "headers: %s is given twice", h.Name)
			continue
		case v.Kind == yaml.ScalarNode && v.Tag == "!!null":
		case v.Kind != yaml.ScalarNode:
			p.wrong(v.Line, "headers: %s takes one plain value", h.Name)
			continue
		case strings.HasPrefix(v.Value, "secret:"):
			name, err := secret(v.Value)
			if err != nil {
				p.wrong(v.Line, "headers: %s %v", h.Name, err)
				continue
			}
			h.Secret = name
		default:
			h.Value = v.Value
		}
		if err := p.checks.Header(h.Name, h.Value); err != nil {
			p.wrong(v.Line, "headers: %v", err)
			continue
		}
		r.Own.Headers = append(r.Own.Headers, h)
	}
	return nil
}

func (p *parser) match(r *Rule, value *yaml.Node) {
	list, err := texts(value)
	switch {
	case err != nil:
		p.wrong(value.Line, "match: %v", err)
	case len(list) == 0:
		p.wrong(value.Line, "match: the list is empty: write host:NAME")
	case len(list) > maxMatches:
		p.wrong(value.Line, "match: %d patterns: %d are allowed in one rule", len(list), maxMatches)
		return
	}
	for i, text := range list {
		line := value.Line
		if value.Kind == yaml.SequenceNode {
			line = value.Content[i].Line
		}
		m, err := Match{}, p.affordable(text)
		if err == nil {
			m, err = parseMatch(text)
		}
		if err == nil && m.pattern != nil && m.host == "" {
			if p.free++; p.free == maxFree+1 {
				p.wrong(line, "match: more than %d patterns without a host, which are tried on every URL: "+
					"name the hosts, with host:, domain: or prefix:", maxFree)
			}
		}
		if err != nil {
			p.wrong(line, "match: %q: %v", text, err)
			continue
		}
		r.Matches = append(r.Matches, m)
	}
}

// affordable says whether a pattern costs too much: nodes try it on each URL.
func (p *parser) affordable(text string) error {
	if len(text) > maxPattern {
		return fmt.Errorf("the pattern has %d bytes: %d are allowed", len(text), maxPattern)
	}
	kind, rest, _ := strings.Cut(text, ":")
	if kind != "regex" {
		return nil
	}
	parsed, err := syntax.Parse(rest, syntax.Perl)
	if err != nil {
		return nil // who reads the pattern says what is wrong
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return err
	}
	if n := len(program.Inst); n > maxInstructions {
		return fmt.Errorf(
			"the regular expression is too large: it has %d instructions, and %d are allowed",
			n, maxInstructions)
	}
	if p.program += len(program.Inst); p.program > maxProgram {
		return fmt.Errorf("the regular expressions of the text are too large together: they have more "+
			"than %d instructions: name hosts instead", maxProgram)
	}
	return nil
}

// parseMatch reads one pattern.
func parseMatch(text string) (Match, error) {
	m := Match{Text: text}
	kind, rest, _ := strings.Cut(text, ":")
	switch kind {
	case "domain":
		if strings.Contains(rest, "*") || strings.HasPrefix(rest, ".") {
			return m, errors.New("write the name alone: domain:NAME is the host and all hosts below it")
		}
		p, err := scope.ParsePattern("host:" + rest)
		m.host, m.below = p.Host(), err == nil
		return m, err
	case "host":
		if strings.HasPrefix(rest, ".") {
			return m, errors.New("a host does not begin with a dot: write host:NAME, or domain:NAME")
		}
		p, err := scope.ParsePattern(text)
		if err != nil {
			return m, err
		}
		if name, ok := strings.CutPrefix(rest, "*."); ok {
			u, err := urlnorm.Parse("http://" + name + "/")
			m.host, m.below, m.not = u.Host(), true, true
			return m, err
		}
		m.host = p.Host()
		return m, nil
	case "prefix", "glob", "regex":
		p, err := scope.ParsePattern(text)
		if err != nil {
			return m, err
		}
		if m.host = p.Host(); m.host == "" && kind == "prefix" {
			return m, errors.New("the prefix has no host: write prefix:example.org/path, " +
				"or glob:/path* for all hosts")
		}
		m.pattern = &p
		return m, nil
	}
	return m, errors.New("put host:, domain:, prefix:, glob: or regex: before it")
}
