package readback

import (
	"encoding/json"
	"strings"
	"sync/atomic"
	"time"

	"crawlnode/output/archive"
	"crawlnode/web/htmlparse"
	"crawlnode/web/preferences"
)

// Omit says what is left out of what is given away: the captures of some URLs, and those whose
// owner said no to a purpose. The zero value leaves nothing out. It may be used by many goroutines.
type Omit struct {
	// URL says it of a stored URL; nil: of none.
	URL func(url string) bool
	// Purposes are what the captures are for, when owners are obeyed; none: they are not.
	Purposes preferences.Purposes
	// Now is the time at which their words are judged.
	Now time.Time

	refused atomic.Int64
}

// Nothing reports whether nothing is left out.
func (o *Omit) Nothing() bool { return o == nil || o.URL == nil && o.Purposes == 0 }

// Refused counts what was left out for its owner's word.
func (o *Omit) Refused() int64 { return o.refused.Load() }

// OfURL reports whether the captures of a URL are left out, whatever was said of them.
func (o *Omit) OfURL(url string) bool { return o.URL != nil && o.URL(url) }

// Capture reports whether a capture is left out. said is what its owner said, as Entry.Preferences
// has it.
func (o *Omit) Capture(url, said string) bool {
	return o.OfURL(url) || o.Said(preferences.ParseAnswers(said))
}

// Said reports whether what an owner said leaves a capture out.
func (o *Omit) Said(answers preferences.Answers) bool {
	if answers.Refused(o.Purposes, o.Now) == 0 {
		return false
	}
	o.refused.Add(1)
	return true
}

// quietly is o with a count of its own.
func (o *Omit) quietly() *Omit { return &Omit{URL: o.URL, Purposes: o.Purposes, Now: o.Now} }

// record reports whether a record is left out, by what is noted in it, or else said in its head.
func (o *Omit) record(r *archive.Record) bool {
	if o.OfURL(r.TargetURI) {
		return true
	}
	return o.Purposes != 0 && o.Said((&Page{Record: r, fields: fieldsOf(r.Head)}).Said(nil).Answers)
}

// Noted reports whether the crawl has noted what the owner said of the use of the page.
func (p *Page) Noted() bool {
	return p.Record.Fields.Get(archive.FieldPreferences) != "" ||
		p.Record.Fields.Get(archive.FieldPreferencesFrom) != ""
}

// Said is what the owner said of the use of the page: as the crawl has noted it when it was
// captured, or else by the answer and, if it is not nil, by the document. Captures of other
// programs, and of earlier releases, have no note of what the site says.
func (p *Page) Said(document *htmlparse.Document) preferences.Record {
	fields := p.Record.Fields
	answers, from := fields.Get(archive.FieldPreferences), fields.Get(archive.FieldPreferencesFrom)
	if !p.Noted() {
		s := preferences.Sources{URL: p.Record.TargetURI, Header: p.fields, Agent: p.agent()}
		if document != nil {
			s.Metas = document.Metas
		}
		return preferences.Of(preferences.Read(&s), p.agent())
	}
	r := preferences.Record{Answers: preferences.ParseAnswers(answers)}
	var statements []string
	if json.Unmarshal([]byte(from), &statements) != nil {
		return r
	}
	for _, text := range statements {
		if s, ok := preferences.ParseStatement(strings.ToValidUTF8(text, "\uFFFD")); ok {
			r.Statements = append(r.Statements, s)
		}
	}
	return r
}
