package preferences

import (
	"encoding/binary"
	"errors"
	"time"
)

// Record is what an owner said of a page when it was visited.
type Record struct {
	Answers    Answers
	Statements []Statement
}

// Of is the record of statements that Read or Again returned. agent is the product token that
// addresses the crawl.
func Of(list []Statement, agent string) Record {
	return Record{Answers: Merge(list, agent), Statements: list}
}

// errRecord is the cause when a stored record cannot be read.
var errRecord = errors.New("preferences: the record is damaged")

// recordVersion is the first byte of a record.
const recordVersion = 1

// Encode writes the record for the disk. A record without statements is one byte, so that it
// differs from "", which says that nobody has read what the owner says.
//
//	byte version, byte answers (2 bits each, the first purpose lowest), varint search until,
//	for each statement: byte level, u length, field, u length, value
func (r Record) Encode() string {
	if len(r.Statements) == 0 && r.Answers == (Answers{}) {
		return string([]byte{recordVersion})
	}
	answers := byte(0)
	for p, a := range r.Answers.Of {
		answers |= byte(a) << (2 * p)
	}
	b := binary.AppendVarint([]byte{recordVersion, answers}, r.Answers.SearchUntil)
	for _, s := range r.Statements {
		b = append(b, byte(s.Level))
		for _, text := range [...]string{s.Field, s.Value} {
			b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
		}
	}
	return string(b)
}

// Decode reads what Encode wrote; "" is an empty record. A record of another version is an error.
func Decode(text string) (r Record, err error) {
	if text == "" || text == string([]byte{recordVersion}) {
		return r, nil
	}
	b := []byte(text)
	if len(b) < 3 || b[0] != recordVersion {
		return r, errRecord
	}
	for p := range r.Answers.Of {
		if r.Answers.Of[p] = Answer(b[1] >> (2 * p) & 3); r.Answers.Of[p] > No {
			return Record{}, errRecord
		}
	}
	until, n := binary.Varint(b[2:])
	if n <= 0 {
		return Record{}, errRecord
	}
	r.Answers.SearchUntil = until
	for b = b[2+n:]; len(b) > 0; {
		s := Statement{Level: Level(b[0])}
		b = b[1:]
		if s.Level >= numLevels {
			return Record{}, errRecord
		}
		for _, text := range [...]*string{&s.Field, &s.Value} {
			size, n := binary.Uvarint(b)
			if n <= 0 || size > uint64(len(b)-n) {
				return Record{}, errRecord
			}
			*text, b = string(b[n:n+int(size)]), b[n+int(size):] //nolint:gosec // within b
		}
		r.Statements = append(r.Statements, s)
	}
	return r, nil
}

// PagePreferences is a record as the API, lists and files have it. Null: nobody said anything.
type PagePreferences struct {
	Search  *bool `json:"search"`
	Archive *bool `json:"archive"`
	AIInput *bool `json:"ai-input"`
	AITrain *bool `json:"ai-train"`
	// From are the statements, each with its place and its words, such as "header: X-Robots-Tag:
	// noai".
	From []string `json:"from"`
}

// Report is the record as people and programs read it, as it holds at a time.
func (r Record) Report(at time.Time) PagePreferences {
	of := r.Answers.At(at)
	report := PagePreferences{Search: of[Search].Bool(), Archive: of[Archive].Bool(),
		AIInput: of[AIInput].Bool(), AITrain: of[AITrain].Bool(), From: r.From()}
	return report
}

// Refused are those of some purposes to which the report says no.
func (r *PagePreferences) Refused(of Purposes) (no Purposes) {
	for p, answer := range [NumPurposes]*bool{r.Search, r.Archive, r.AIInput, r.AITrain} {
		if answer != nil && !*answer {
			no |= 1 << p
		}
	}
	return no & of
}

// From are the statements as people read them; never nil.
func (r Record) From() []string {
	from := make([]string, 0, len(r.Statements))
	for _, s := range r.Statements {
		from = append(from, s.String())
	}
	return from
}

// Bool is the answer; nil: it is unknown.
func (a Answer) Bool() *bool {
	if a == Unknown {
		return nil
	}
	yes := a == Yes
	return &yes
}
