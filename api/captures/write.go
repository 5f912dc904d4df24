package captures

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"crawlnode/crawl"
)

// The fields of a capture, and those of an answer to a question that names none.
var (
	all = []string{"urlkey", "timestamp", "original", "mimetype", "statuscode", "digest", "redirect",
		"robotflags", "length", "offset", "filename"}
	usual = []string{"urlkey", "timestamp", "original", "mimetype", "statuscode", "digest", "length"}
)

// otherNames are the names that other servers have for fields.
var otherNames = map[string]string{
	"url":       "original",
	"mime":      "mimetype",
	"status":    "statuscode",
	"timestamp": "timestamp",
	"key":       "urlkey",
}

// named is the field of a name.
func named(name string) (string, bool) {
	if other, ok := otherNames[name]; ok {
		name = other
	}
	return name, slices.Contains(all, name)
}

// row is one line of an index.
type row struct {
	key, date string
	line      string
	fields    struct {
		URL      string `json:"url"`
		MIME     string `json:"mime"`
		Status   string `json:"status"`
		Digest   string `json:"digest"`
		Length   string `json:"length"`
		Offset   string `json:"offset"`
		Filename string `json:"filename"`
	}
}

// field is the value of a field, as texts without spaces; "-" when it is not known.
func (r *row) field(name string) string {
	value := ""
	switch name {
	case "urlkey":
		value = r.key
	case "timestamp":
		value = r.date
	case "original":
		value = r.fields.URL
	case "mimetype":
		value = r.fields.MIME
	case "statuscode":
		value = r.fields.Status
	case "digest":
		value = strings.TrimPrefix(r.fields.Digest, "sha1:")
	case "length":
		value = r.fields.Length
	case "offset":
		value = r.fields.Offset
	case "filename":
		value = r.fields.Filename
	}
	if value == "" {
		return "-"
	}
	return strings.ReplaceAll(value, " ", "%20")
}

// errEnough ends a walk at the limit.
var errEnough = errors.New("enough")

// Each calls fn with each line of the index in a range, in order and without its end, until fn
// returns an error.
type Each func(r crawl.IndexRange, fn func(node crawl.NodeRef, line []byte) error) error

// Write answers the question.
func (q *Query) Write(out io.Writer, each Each) error {
	w := bufio.NewWriterSize(out, 32<<10)
	if err := q.write(w, each); err != nil {
		return err // what is in the buffer is not sent: until then it can be an answer of another status
	}
	return w.Flush()
}

func (q *Query) write(w io.Writer, each Each) error {
	if q.pages {
		_, err := io.WriteString(w, "1\n")
		return err
	}
	p := &printer{q: q, w: w}
	err := error(nil)
	if !q.empty {
		err = each(q.Range(), func(_ crawl.NodeRef, line []byte) error { return p.take(line) })
	}
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	for _, r := range p.last {
		if err := p.print(r); err != nil {
			return err
		}
	}
	return p.end(errors.Is(err, errEnough))
}

// printer writes an answer.
type printer struct {
	q       *Query
	w       io.Writer
	printed int
	last    []*row // with a negative limit
	final   *row   // the one that was printed last
	before  string // the field that is collapsed
}

// take takes a line of the index.
func (p *printer) take(line []byte) error {
	if p.q.limit > 0 && p.printed >= p.q.limit {
		return errEnough
	}
	r := &row{line: string(line)}
	var rest string
	r.key, rest, _ = strings.Cut(r.line, " ")
	r.date, rest, _ = strings.Cut(rest, " ")
	if !p.q.has(r.key) || r.line <= p.q.resume || p.q.from != "" && r.date < p.q.from ||
		p.q.to != "" && r.date > p.q.to {
		return nil
	}
	if err := json.Unmarshal([]byte(rest), &r.fields); err != nil {
		return fmt.Errorf("index line: %w", err)
	}
	if !p.q.wants(r) || p.repeats(r) {
		return nil
	}
	if p.q.limit < 0 {
		if p.last = append(p.last, r); len(p.last) > -p.q.limit {
			p.last[0] = nil
			p.last = p.last[1:]
		}
		return nil
	}
	return p.print(r)
}

// wants reports whether a capture passes the filters.
func (q *Query) wants(r *row) bool {
	for _, f := range q.filters {
		value := r.field(f.field)
		fits := value == f.equal
		if f.pattern != nil {
			fits = f.pattern.MatchString(value)
		}
		if fits == f.not {
			return false
		}
	}
	return true
}

// repeats reports whether a capture is left out because the one before it was alike.
func (p *printer) repeats(r *row) bool {
	c := p.q.collapse
	if c.field == "" {
		return false
	}
	value := r.field(c.field)
	if c.chars > 0 {
		value = value[:min(c.chars, len(value))]
	}
	same := value == p.before
	p.before = value
	return same
}

func (p *printer) print(r *row) error {
	values := make([]string, len(p.q.fields))
	for i, f := range p.q.fields {
		values[i] = r.field(f)
	}
	text := strings.Join(values, " ") + "\n"
	switch p.q.output {
	case "json":
		text = p.between() + quoted(values)
	case "jsonl":
		pairs := make([]string, len(values))
		for i, f := range p.q.fields {
			pairs[i] = quote(f) + ": " + quote(values[i])
		}
		text = "{" + strings.Join(pairs, ", ") + "}\n"
	}
	p.printed++
	p.final = r
	_, err := io.WriteString(p.w, text)
	return err
}

// between is what stands before a row of a JSON answer: before the first one the names.
func (p *printer) between() string {
	if p.printed == 0 {
		return "[" + quoted(p.q.fields) + ",\n"
	}
	return ",\n"
}

// end writes what stands behind the last row. A JSON answer without any is an empty list.
func (p *printer) end(more bool) error {
	key := ""
	if more && p.q.resumes && p.final != nil {
		key = base64.RawURLEncoding.EncodeToString([]byte(p.final.line))
	}
	text := ""
	switch {
	case p.q.output == "json" && p.printed == 0:
		text = "[]\n"
	case p.q.output == "json" && key != "":
		text = ",\n[],\n" + quoted([]string{key}) + "]\n"
	case p.q.output == "json":
		text = "]\n"
	case p.q.output == "" && key != "":
		text = "\n" + key + "\n"
	}
	_, err := io.WriteString(p.w, text)
	return err
}

// quoted is a list of texts in JSON.
func quoted(values []string) string {
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = quote(v)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return string(b)
}

// ContentType is the media type of the answer.
func (q *Query) ContentType() string {
	switch q.output {
	case "json":
		return "application/json"
	case "jsonl":
		return "application/x-ndjson"
	}
	return "text/plain; charset=utf-8"
}
