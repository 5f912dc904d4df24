package preferences

import (
	"net/http"
	"net/textproto"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"

	"crawlnode/web/htmlparse"
	"crawlnode/web/robots"
)

// Level is where a statement stands.
type Level uint8

// The levels. The numbers are written to disk.
const (
	RobotsTxt Level = iota
	TDMFile         // /.well-known/tdmrep.json
	Header
	Page // a meta element
	numLevels
)

var levelNames = [numLevels]string{"robots.txt", "tdmrep.json", "header", "meta"}

// Statement is what an owner says at one place, as it is written there.
type Statement struct {
	Level Level
	Field string // of a header or line, or the name of a meta element
	Value string
}

// String is the statement as people read it, such as "header: X-Robots-Tag: noai".
func (s Statement) String() string {
	return levelNames[min(s.Level, numLevels-1)] + ": " + s.Field + ": " + s.Value
}

// ParseStatement reads what String writes.
func ParseStatement(text string) (s Statement, ok bool) {
	level, rest, _ := strings.Cut(text, ": ")
	s.Field, s.Value, ok = strings.Cut(rest, ": ")
	for i, name := range levelNames {
		if name == level {
			s.Level = Level(i) //nolint:gosec // below numLevels
			return s, ok
		}
	}
	return Statement{}, false
}

// The names of header fields, as http.Header has them.
const (
	usageField       = "Content-Usage"
	signalField      = "Content-Signal"
	robotsField      = "X-Robots-Tag"
	reservationField = "Tdm-Reservation"
	policyField      = "Tdm-Policy"
)

// headerFields are the fields that are read, with the names that statements give them.
var headerFields = [...]struct{ key, name string }{
	{usageField, "Content-Usage"}, {signalField, "Content-Signal"}, {robotsField, "X-Robots-Tag"},
	{reservationField, "TDM-Reservation"}, {policyField, "TDM-Policy"},
}

// Sources are what is known of a page.
type Sources struct {
	URL    string
	Robots *robots.Rules // nil: there are none
	TDM    []TDMRule     // of tdmrep.json
	Header map[string][]string
	Metas  []htmlparse.Meta
	Agent  string // the product token that addresses the crawl
}

// Read returns the statements that apply to a page, those of the site first.
func Read(s *Sources) (list []Statement) {
	for _, u := range s.Robots.Usage(s.URL) {
		value := u.Value
		if u.Path != "" {
			value = u.Path + " " + value
		}
		list = append(list, Statement{RobotsTxt, u.Name, value})
	}
	list = append(list, tdmStatements(s.TDM, s.URL)...)
	for _, f := range headerFields {
		lines := s.Header[f.key]
		if f.key == usageField && len(lines) > 1 { // they are one dictionary (RFC 9651, section 4.2)
			lines = []string{strings.Join(lines, ", ")}
		}
		for _, value := range lines {
			list = append(list, Statement{Header, f.name, textproto.TrimString(value)})
		}
	}
	for _, m := range s.Metas {
		list = append(list, Statement{Page, m.Name, strings.TrimSpace(m.Content)})
	}
	return keep(list, s.Agent)
}

// Again returns the statements of a page that is the same as before and was not read: the page's
// own are those that are stored, the site's those of now. A header that came with the page counts
// as it is; one of a 304 (partial) replaces the fields that it has (RFC 9111, section 3.2). fresh
// is what Read returns of the answer without the page.
func Again(stored, fresh []Statement, header http.Header, partial bool, agent string) []Statement {
	list := append([]Statement(nil), fresh...)
	for _, s := range stored {
		switch s.Level {
		case Header:
			if partial && len(header.Values(s.Field)) == 0 {
				list = append(list, s)
			}
		case Page:
			list = append(list, s)
		}
	}
	return keep(list, agent)
}

// protocol is whose rules read a statement.
type protocol uint8

const (
	usage protocol = iota
	signals
	directives
	reservation
	policy // says where to ask, and nothing else
)

func (s Statement) protocol() protocol {
	switch {
	case strings.EqualFold(s.Field, usageField):
		return usage
	case strings.EqualFold(s.Field, signalField):
		return signals
	case strings.EqualFold(s.Field, reservationField):
		return reservation
	case strings.EqualFold(s.Field, policyField):
		return policy
	}
	return directives
}

// path returns the path of a line of robots.txt, and what is said of it.
func (s Statement) path() (path, value string) {
	if s.Level == RobotsTxt && strings.HasPrefix(s.Value, "/") {
		path, value, _ = strings.Cut(s.Value, " ")
		return path, value
	}
	return "", s.Value
}

// answers is what a statement says by itself.
func (s Statement) answers(agent string) (a Answers) {
	_, value := s.path()
	switch s.protocol() {
	case usage:
		return usageAnswers(value)
	case signals:
		return signalAnswers(value)
	case directives:
		return directiveAnswers([]string{value}, agent, s.Level == Header)
	case reservation:
		if strings.TrimSpace(value) == "1" {
			a.Of[AITrain] = No
		}
	}
	return a
}

// Merge makes the answers of statements. agent is the product token that addresses the crawl.
func Merge(list []Statement, agent string) (a Answers) {
	var reserved [numLevels]string
	for _, s := range list {
		if s.protocol() != reservation {
			a.add(s.answers(agent))
			continue
		}
		// Values other than 0 and 1 are errors, and as good as none.
		if v := strings.TrimSpace(s.Value); reserved[s.Level] == "" && (v == "0" || v == "1") {
			reserved[s.Level] = v
		}
	}
	for _, level := range [...]Level{Page, Header, TDMFile} {
		if v := reserved[level]; v != "" {
			a.add(Statement{level, reservationField, v}.answers(agent))
			break
		}
	}
	return a
}

// usageAnswers reads a dictionary of Content-Usage (draft-ietf-aipref-vocab). One that is malformed
// says nothing, and so does a value that is neither y nor n.
func usageAnswers(dictionary string) (a Answers) {
	d, err := httpsfv.UnmarshalDictionary([]string{dictionary})
	if err != nil {
		return a
	}
	for label, p := range map[string]Purpose{"search": Search, "train-ai": AITrain} {
		member, _ := d.Get(label)
		item, ok := member.(httpsfv.Item)
		if !ok {
			continue
		}
		switch item.Value {
		case httpsfv.Token("y"):
			a.Of[p] = Yes
		case httpsfv.Token("n"):
			a.Of[p] = No
		}
	}
	return a
}

// signalAnswers reads a list of content signals. Of one that is named twice the no counts.
func signalAnswers(list string) (a Answers) {
	for signal := range strings.SplitSeq(list, ",") {
		name, value, _ := strings.Cut(signal, "=")
		p, known := purposeOf(strings.ToLower(strings.TrimSpace(name)))
		if !known || p == Archive { // it is no signal
			continue
		}
		switch value = strings.TrimSpace(value); {
		case strings.EqualFold(value, "yes"):
			a.Of[p] = max(a.Of[p], Yes)
		case strings.EqualFold(value, "no"):
			a.Of[p] = No
		}
	}
	return a
}

// directiveAnswers reads robots directives.
func directiveAnswers(lists []string, agent string, addressed bool) (a Answers) {
	d := htmlparse.ReadDirectives(lists, agent, addressed)
	if d.NoIndex {
		a.Of[Search] = No
	}
	if d.NoArchive {
		a.Of[Archive] = No
	}
	if d.NoAI {
		a.Of[AIInput], a.Of[AITrain] = No, No
	}
	if !d.NoIndexFrom.IsZero() {
		a.SearchUntil = max(d.NoIndexFrom.Unix(), 1)
	}
	return a
}

// The bounds of what is kept of a page's statements.
const (
	MaxStatements = 16
	MaxBytes      = 2 << 10
	maxValue      = 256
)

// keep bounds what is stored, without losing an answer: a value that is long is replaced by what it
// says of purposes; a statement that says what holds without it, or that was made already, goes;
// when there is no more room, only those are kept that change the answers.
func keep(list []Statement, agent string) []Statement {
	if len(list) == 0 { // most pages
		return nil
	}
	kept := make([]Statement, 0, min(len(list), MaxStatements))
	bytes := 0
	seen := map[Statement]bool{}
	for _, s := range list {
		if len(s.Value) > maxValue {
			s = shorten(s, agent)
		}
		s.Value = strings.ToValidUTF8(s.Value, "\uFFFD")
		size := len(s.Field) + len(s.Value)
		full := len(kept) >= MaxStatements-reserve || bytes+size > MaxBytes-reserve*maxValue
		switch {
		case s.Value == "" || seen[s] || !worthKeeping(s, agent):
			continue
		case full && !changes(kept, s, agent):
			continue
		}
		seen[s] = true
		kept = append(kept, s)
		bytes += size
	}
	if len(kept) == 0 {
		return nil
	}
	return kept
}

// reserve is the room that is kept for statements that change the answers: each purpose can turn to
// no once, by either side of TDMRep, and the time of unavailable_after come nearer.
const reserve = 4

// changes reports whether a statement adds to the answers of those before it.
func changes(kept []Statement, s Statement, agent string) bool {
	if len(kept) >= MaxStatements {
		return false
	}
	return Merge(append(kept[:len(kept):len(kept)], s), agent) != Merge(kept, agent)
}

// worthKeeping reports whether a statement says more than what holds without it.
func worthKeeping(s Statement, agent string) bool {
	if s.protocol() != directives {
		return true
	}
	d := htmlparse.ReadDirectives([]string{s.Value}, agent, s.Level == Header)
	return d.Other || d.NoIndex || d.NoArchive || d.NoAI || !d.NoIndexFrom.IsZero()
}

// shorten replaces a long value by what it says of purposes, in the words of its protocol.
func shorten(s Statement, agent string) Statement {
	a := s.answers(agent)
	var words []string
	say := func(p Purpose, yes, no string) {
		switch {
		case a.Of[p] == Yes && yes != "":
			words = append(words, yes)
		case a.Of[p] == No && no != "":
			words = append(words, no)
		}
	}
	path, _ := s.path()
	switch s.protocol() {
	case usage:
		say(Search, "search=y", "search=n")
		say(AITrain, "train-ai=y", "train-ai=n")
	case signals:
		say(Search, "search=yes", "search=no")
		say(AIInput, "ai-input=yes", "ai-input=no")
		say(AITrain, "ai-train=yes", "ai-train=no")
	case directives:
		say(Search, "", "noindex")
		say(Archive, "", "noarchive")
		say(AITrain, "", "noai")
		if a.SearchUntil != 0 {
			from := time.Unix(a.SearchUntil, 0).UTC()
			words = append(words, "unavailable_after: "+from.Format(time.RFC3339))
		}
	}
	s.Value = strings.Join(words, ", ")
	if path != "" && len(path) <= maxValue-64 && s.Value != "" { // room for the words
		s.Value = path + " " + s.Value
	}
	return s
}
