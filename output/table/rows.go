package table

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"

	"crawlnode/output/archive"
	"crawlnode/web/preferences"
)

// Capture is a row of the table of captures, with the columns of Common Crawl's flat schema.
type Capture struct {
	SURTKey          string    `parquet:"url_surtkey"`
	URL              string    `parquet:"url"`
	Host             string    `parquet:"url_host_name,dict"`
	TLD              *string   `parquet:"url_host_tld,dict"`
	Part2            *string   `parquet:"url_host_2nd_last_part,dict"`
	Part3            *string   `parquet:"url_host_3rd_last_part,dict"`
	Part4            *string   `parquet:"url_host_4th_last_part,dict"`
	Part5            *string   `parquet:"url_host_5th_last_part,dict"`
	RegistrySuffix   *string   `parquet:"url_host_registry_suffix,dict"`
	RegisteredDomain *string   `parquet:"url_host_registered_domain,dict"`
	PrivateSuffix    *string   `parquet:"url_host_private_suffix,dict"`
	PrivateDomain    *string   `parquet:"url_host_private_domain,dict"`
	Reversed         *string   `parquet:"url_host_name_reversed,dict"`
	Protocol         string    `parquet:"url_protocol,dict"`
	Port             *int32    `parquet:"url_port"`
	Path             string    `parquet:"url_path"`
	Query            *string   `parquet:"url_query"`
	Time             time.Time `parquet:"fetch_time,timestamp(millisecond)"`
	Status           int16     `parquet:"fetch_status"`
	Redirect         *string   `parquet:"fetch_redirect"`
	Digest           *string   `parquet:"content_digest"`
	MIME             *string   `parquet:"content_mime_type,dict"`
	Detected         *string   `parquet:"content_mime_detected,dict"`
	Charset          *string   `parquet:"content_charset,dict"`
	Languages        *string   `parquet:"content_languages,dict"`
	Truncated        *string   `parquet:"content_truncated,dict"`
	RecordID         []byte    `parquet:"warc_record_id,optional"`
	File             string    `parquet:"warc_filename,dict"`
	Offset           int32     `parquet:"warc_record_offset"`
	Length           int32     `parquet:"warc_record_length"`
	Segment          string    `parquet:"warc_segment,dict"`
	Crawl            string    `parquet:"crawl,dict"`
	Subset           string    `parquet:"subset,dict"`
	Search           *bool     `parquet:"pref_search"`
	Archive          *bool     `parquet:"pref_archive"`
	AIInput          *bool     `parquet:"pref_ai_input"`
	AITrain          *bool     `parquet:"pref_ai_train"`
}

// fillPreferences fills the columns of what the owner said of the use of a page, as it holds at a
// time.
func fillPreferences(
	a preferences.Answers,
	at time.Time,
	search, archive, aiInput, aiTrain **bool,
) {
	of := a.At(at)
	*search, *archive = of[preferences.Search].Bool(), of[preferences.Archive].Bool()
	*aiInput, *aiTrain = of[preferences.AIInput].Bool(), of[preferences.AITrain].Bool()
}

// SetPreferences fills the columns of what the owner said of the use of the page, as it held when
// it was captured.
func (p *Page) SetPreferences(a preferences.Answers) {
	fillPreferences(a, p.FetchedAt, &p.Search, &p.Archive, &p.AIInput, &p.AITrain)
}

func (c Capture) size() int {
	return 400 + 3*len(c.URL) + len(c.File) // a slot of each column as well
}

// Page is a row of the table of pages.
type Page struct {
	URL         string    `parquet:"url"`
	Host        string    `parquet:"host,dict"`
	FetchedAt   time.Time `parquet:"fetched_at,timestamp(millisecond)"`
	Status      int16     `parquet:"status"`
	Title       *string   `parquet:"title"`
	Description *string   `parquet:"description"`
	Language    *string   `parquet:"language,dict"`
	Charset     *string   `parquet:"charset,dict"`
	Canonical   *string   `parquet:"canonical"`
	NoIndex     bool      `parquet:"noindex"`
	Links       int32     `parquet:"links"`
	Text        *string   `parquet:"text"`
	Bytes       int64     `parquet:"bytes"`
	Digest      *string   `parquet:"digest"`
	File        string    `parquet:"warc_filename,dict"`
	Offset      int64     `parquet:"warc_record_offset"`
	Length      int32     `parquet:"warc_record_length"`
	Search      *bool     `parquet:"pref_search"`
	Archive     *bool     `parquet:"pref_archive"`
	AIInput     *bool     `parquet:"pref_ai_input"`
	AITrain     *bool     `parquet:"pref_ai_train"`
	Metadata    *string   `parquet:"metadata"` // JSON, as web/metadata has it
}

func (p Page) size() int {
	n := 200 + 2*len(p.URL)
	for _, s := range []*string{p.Title, p.Description, p.Canonical, p.Text, p.Metadata} {
		if s != nil {
			n += len(*s)
		}
	}
	return n
}

// Link is a row of the table of links.
type Link struct {
	Source     string  `parquet:"source,dict"`
	Target     string  `parquet:"target"`
	SourceHost string  `parquet:"source_host,dict"`
	TargetHost string  `parquet:"target_host,dict"`
	Text       *string `parquet:"text"`
	Rel        *string `parquet:"rel,dict"`
	NoFollow   bool    `parquet:"nofollow"`
	Tag        string  `parquet:"tag,dict"`
	Position   int32   `parquet:"position"` // among the page's links, from 0
}

func (l Link) size() int {
	n := 100 + len(l.Target)
	if l.Text != nil {
		n += len(*l.Text)
	}
	return n
}

// OptionalText is nil for "".
func OptionalText(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// CaptureOf makes a row of what an index says of a capture. Common Crawl's columns have no place
// for a record beyond 2 GiB of its file.
func CaptureOf(e *archive.Entry, crawl string) (Capture, error) {
	if e.Ref.Offset > math.MaxInt32 || e.Ref.Length > math.MaxInt32 {
		return Capture{}, fmt.Errorf("%s: the record at %d of %s is beyond the 2 GiB that the columns "+
			"have place for: crawl with a smaller --warc-size", e.URL, e.Ref.Offset, e.Ref.File)
	}
	mime := e.MIME
	if e.Revisit {
		mime = "warc/revisit"
	}
	digest := strings.TrimPrefix(e.Digest, "sha1:")
	c := Capture{
		SURTKey:  archive.Key(e.URL),
		URL:      e.URL,
		Time:     e.At,
		Status:   int16(e.Status),
		MIME:     OptionalText(mime),
		Detected: OptionalText(e.MIME), //nolint:gosec // at most 999
		File:     e.Ref.File,
		Offset:   int32(e.Ref.Offset),
		Length:   int32(e.Ref.Length),
		Segment:  segment(e.Ref.File),
		Crawl:    crawl,
		Subset:   "crawldiagnostics",
	} //nolint:gosec // bounded
	fillPreferences(preferences.ParseAnswers(e.Preferences), e.At, &c.Search, &c.Archive, &c.AIInput,
		&c.AITrain)
	if digest != "-" {
		c.Digest = OptionalText(digest)
	}
	if e.Status >= 200 && e.Status < 300 {
		c.Subset = "warc"
	}
	c.split()
	if c.Path == "/robots.txt" {
		c.Subset = "robotstxt"
	}
	return c, nil
}

// segment is what distinguishes the files of a node: the end of their names.
func segment(file string) string {
	name, _, _ := strings.Cut(file, ".warc")
	if parts := strings.SplitN(name, "-", 4); len(parts) == 4 {
		return parts[3]
	}
	return name
}

// split fills in the parts of the canonical URL.
func (c *Capture) split() {
	var rest string
	c.Protocol, rest, _ = strings.Cut(c.URL, "://")
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	authority, path := rest[:end], rest[end:]
	before, query, has := strings.Cut(path, "?")
	if c.Path = before; has {
		c.Query = &query
	}
	c.Host = authority
	if i := strings.LastIndexByte(authority, ':'); i > strings.LastIndexByte(authority, ']') {
		if port, err := strconv.ParseUint(authority[i+1:], 10, 16); err == nil {
			n := int32(port)
			c.Host, c.Port = authority[:i], &n
		}
	}
	if _, err := netip.ParseAddr(strings.Trim(c.Host, "[]")); err != nil {
		c.names()
	}
}

// names fills in the parts of a host name.
func (c *Capture) names() {
	labels := strings.Split(c.Host, ".")
	slices.Reverse(labels)
	for i, part := range []**string{&c.TLD, &c.Part2, &c.Part3, &c.Part4, &c.Part5} {
		if i < len(labels) {
			*part = OptionalText(labels[i])
		}
	}
	c.Reversed = OptionalText(strings.Join(labels, "."))
	private, icann := publicsuffix.PublicSuffix(c.Host)
	registry := private
	for !icann { // a private registry is below one of a country or of a kind
		_, above, ok := strings.Cut(registry, ".")
		if !ok {
			break
		}
		registry, icann = publicsuffix.PublicSuffix(above)
	}
	c.PrivateSuffix, c.RegistrySuffix = OptionalText(private), OptionalText(registry)
	c.PrivateDomain, c.RegisteredDomain = below(c.Host, private), below(c.Host, registry)
}

// below is the name one level below a suffix; nil: the host is the suffix.
func below(host, suffix string) *string {
	rest, ok := strings.CutSuffix(host, "."+suffix)
	if !ok {
		return nil
	}
	name := rest[strings.LastIndexByte(rest, '.')+1:] + "." + suffix
	return &name
}
