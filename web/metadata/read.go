package metadata

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"golang.org/x/text/language"

	"crawlnode/web/htmlparse"
	"crawlnode/web/urlnorm"
)

// The limits of the fields, in bytes where nothing else is said.
const (
	maxTitle   = 1 << 10
	maxSite    = 512
	maxType    = 128
	maxAuthor  = 256
	maxAuthors = 100     // names
	maxNames   = 4 << 10 // of all authors
)

// Options are what is known of a page beside its bytes.
type Options struct {
	// HeaderLanguage is the Content-Language header, "" for none.
	HeaderLanguage string
}

// Read reads a page: its body as it was served (HTML or XHTML), decoded from its Content-Encoding,
// with its Content-Type header ("" when there was none), and the address that it was served from.
// body is not changed and not kept. Of a body of another type only the header is read.
func Read(body []byte, contentType string, base urlnorm.URL, o Options) Record {
	if !isPage(contentType) {
		return Record{Language: headerLanguage(o.HeaderLanguage)}
	}
	p := page{base: base}
	p.read(htmlparse.UTF8(body, contentType), contentType)
	s := newSources(&p, base)
	r := Record{
		Title:       s.title(),
		Author:      s.authors(),
		PublishedAt: s.published(),
		ModifiedAt:  s.modified(),
		Type:        s.kind(),
		Site:        s.site(),
		Image:       s.image(),
		Licence:     s.licence(),
		Language:    s.language(o.HeaderLanguage),
	}
	r.Raw = s.raw(&r)
	return r
}

// isPage reports whether a media type may be that of a page; none may.
func isPage(contentType string) bool {
	essence, _, _ := strings.Cut(contentType, ";")
	switch strings.ToLower(strings.TrimSpace(essence)) {
	case "", "text/html", "application/xhtml+xml", "application/xml", "text/xml",
		"application/octet-stream", "unknown/unknown", "*/*":
		return true
	}
	return false
}

// sources are what a page has said, with the entities that it is about.
type sources struct {
	*page
	jsonLD, microdata []any
	works, pages      []entity // JSON-LD before microdata
	graphs            []*graph
}

// entity is an entity of a graph.
type entity struct {
	*graph
	object
}

func newSources(p *page, served urlnorm.URL) *sources {
	s := &sources{page: p, jsonLD: decodeScripts(p.scripts), microdata: p.items.top}
	if len(s.jsonLD)+len(s.microdata) == 0 {
		return s
	}
	addresses := []string{place(served)}
	for _, ref := range []string{reference(p.canonical), s.meta(maxRef, "og:url")} {
		if u, err := p.base.Resolve(ref); ref != "" && err == nil {
			addresses = append(addresses, place(u))
		}
	}
	title := s.meta(maxTitle, "og:title")
	for _, values := range [][]any{s.jsonLD, s.microdata} {
		if len(values) == 0 {
			continue
		}
		g := newGraph(values, p.base)
		s.graphs = append(s.graphs, g)
		if o := g.main(addresses, title); o != nil {
			s.works = append(s.works, entity{g, o})
		}
		if o := g.page(); o != nil {
			s.pages = append(s.pages, entity{g, o})
		}
	}
	return s
}

// meta is the content of the first of the names that is there, in at most n bytes.
func (s *sources) meta(n int, names ...string) string {
	for _, name := range names {
		for i := range s.metas {
			if s.metas[i].name == name {
				if v := attribute(s.metas[i].content, n); v != "" {
					return v
				}
			}
		}
	}
	return ""
}

// dated is the first date of the meta elements of these names.
func (s *sources) dated(names ...string) string {
	for _, name := range names {
		for i := range s.metas {
			if s.metas[i].name == name {
				if d := date(attribute(s.metas[i].content, maxDate)); d != "" {
					return d
				}
			}
		}
	}
	return ""
}

// of is the first value that f finds in one of the entities.
func of(entities []entity, f func(entity) string) string {
	for _, e := range entities {
		if v := f(e); v != "" {
			return v
		}
	}
	return ""
}

func (s *sources) title() string {
	name := func(e entity) string { return e.title(e.object) }
	return cmp.Or(
		of(s.works, name),
		s.meta(maxTitle, "citation_title", "og:title", "dcterms.title", "dc.title", "parsely-title",
			"twitter:title"),
		of(s.pages, name),
		text(s.page.title, maxTitle),
	)
}

// authorNames are the meta elements that name authors. One has all of them.
var authorNames = []string{
	"citation_author", "dcterms.creator", "dc.creator", "parsely-author", "author",
	"article:author", "book:author",
}

func (s *sources) authors() Authors {
	for _, entities := range [][]entity{s.works, s.pages} {
		for _, e := range entities {
			if all := people(e.names(e.object, "author", "creator")); all != nil {
				return all
			}
		}
	}
	for _, name := range authorNames {
		var all []string
		for i := range s.metas {
			if s.metas[i].name == name && len(all) < maxAuthors {
				all = append(all, attribute(s.metas[i].content, maxText))
			}
		}
		if all := people(all); all != nil {
			return all
		}
	}
	return nil
}

// people are names without repeats. A semicolon divides names; an address is none.
func people(written []string) (all Authors) {
	seen, size := map[string]bool{}, 0
	for _, list := range written {
		for name := range strings.SplitSeq(list, ";") {
			name = clean(name, maxAuthor)
			key := strings.ToLower(name)
			if name == "" || seen[key] || strings.Contains(name, "://") {
				continue
			}
			if size += len(name); size > maxNames || len(all) == maxAuthors {
				return all
			}
			seen[key] = true
			all = append(all, name)
		}
	}
	return all
}

func (s *sources) published() string {
	names := []string{"datePublished", "uploadDate", "datePosted", "dateCreated"}
	found := func(e entity) string { return e.date(e.object, names...) }
	return cmp.Or(
		of(s.works, found),
		s.dated("article:published_time", "citation_publication_date", "citation_online_date",
			"citation_date", "dcterms.issued", "dc.issued", "dc.date.issued", "book:release_date",
			"video:release_date", "music:release_date", "parsely-pub-date"),
		of(s.pages, found),
		s.dated("dcterms.created", "dc.created", "dc.date.created", "dcterms.date", "dc.date",
			"pubdate", "publish-date", "publish_date", "publishdate", "date", "created",
			"creation_date"),
	)
}

func (s *sources) modified() string {
	found := func(e entity) string { return e.date(e.object, "dateModified") }
	return cmp.Or(
		of(s.works, found),
		s.dated("article:modified_time", "og:updated_time", "dcterms.modified", "dc.modified",
			"dc.date.modified"),
		of(s.pages, found),
		s.dated("last-modified", "last_modified", "revised"),
	)
}

func (s *sources) kind() string {
	found := func(e entity) string { return cut(typeOf(e.object), maxType) }
	if kind := cmp.Or(of(s.works, found), of(s.pages, found)); kind != "" {
		return kind
	}
	kind := openGraphTypes[strings.ToLower(s.meta(maxType, "og:type"))]
	if kind = cmp.Or(kind, s.meta(maxType, "dcterms.type", "dc.type")); kind != "" {
		return kind
	}
	for _, is := range []func(string) bool{
		func(name string) bool { return rankOf(name) == anything },
		func(name string) bool { return name == "WebSite" },
	} {
		for _, g := range s.graphs {
			if o := g.first(is); o != nil {
				return cut(typeOf(o), maxType)
			}
		}
	}
	return ""
}

func (s *sources) site() string {
	if name := s.meta(maxSite, "og:site_name"); name != "" {
		return name
	}
	for _, g := range s.graphs {
		if o := g.first(func(name string) bool { return name == "WebSite" }); o != nil {
			if name := g.word(o, maxSite, "name"); name != "" {
				return name
			}
		}
	}
	found := func(e entity) string { return e.word(e.object, maxSite, "isPartOf", "publisher") }
	return cmp.Or(
		of(s.works, found), of(s.pages, found),
		s.meta(maxSite, "application-name", "dcterms.publisher", "dc.publisher"),
	)
}

func (s *sources) image() string {
	return cmp.Or(
		of(s.works, func(e entity) string { return e.address(e.object, "image", "thumbnailUrl") }),
		s.address("og:image", "og:image:secure_url", "og:image:url"),
		of(s.pages, func(e entity) string {
			return e.address(e.object, "image", "primaryImageOfPage", "thumbnailUrl")
		}),
		s.address("twitter:image", "twitter:image:src"),
		absolute(s.base, reference(s.page.image)),
	)
}

// address is the first http address in the meta elements of these names.
func (s *sources) address(names ...string) string {
	for _, name := range names {
		for i := range s.metas {
			if s.metas[i].name == name {
				if a := absolute(s.base, reference(s.metas[i].content)); a != "" {
					return a
				}
			}
		}
	}
	return ""
}

// absolute is the absolute form of an http address, "" for anything else and for nothing.
func absolute(base urlnorm.URL, ref string) string {
	if ref = strings.TrimSpace(ref); ref == "" {
		return ""
	}
	u, err := base.Resolve(ref)
	if err != nil {
		return ""
	}
	return u.String()
}

func (s *sources) licence() string {
	found := func(e entity) string { return e.licence(e.object) }
	v := cmp.Or(
		absolute(s.base, reference(s.page.licence)),
		s.oneLicence(),
		of(s.works, found), of(s.pages, found),
	)
	if v != "" {
		return v
	}
	names := []string{"dcterms.license", "dc.license", "dcterms.rights", "dc.rights"}
	for _, name := range names { // an address before text
		for i := range s.metas {
			if s.metas[i].name == name {
				if v := licence(s.base, reference(s.metas[i].content)); v != "" {
					return v
				}
			}
		}
	}
	return s.meta(maxTitle, names...)
}

// oneLicence is the licence to which anchors lead, if it is the same for all.
func (s *sources) oneLicence() string {
	one := ""
	for _, ref := range s.licences {
		v := absolute(s.base, reference(ref))
		if v == "" || one != "" && v != one {
			return ""
		}
		one = v
	}
	return one
}

// licence is a value that may be an address or text as an address; "" when it is text.
func licence(base urlnorm.URL, v string) string {
	v = strings.TrimSpace(cut(v, maxRef))
	head := strings.ToLower(cut(v, len("https://")))
	for _, prefix := range [...]string{"https://", "http://", "/"} {
		if strings.HasPrefix(head, prefix) {
			return absolute(base, v)
		}
	}
	return ""
}

func (s *sources) language(header string) string {
	found := func(e entity) string { return e.language(e.object) }
	return cmp.Or(
		languageTag(attribute(s.lang, maxName)),
		of(s.works, found), of(s.pages, found),
		languageTag(s.meta(maxName, "og:locale")),
		languageTag(s.meta(maxName, "dcterms.language", "dc.language", "citation_language")),
		languageTag(s.meta(maxName, "content-language", "language")),
		headerLanguage(header),
	)
}

// headerLanguage is that of a Content-Language header. One that names several says for whom the
// page is, not what it is written in.
func headerLanguage(header string) string { return languageTag(clean(header, maxName)) }

// languageTag is a tag of BCP 47 in canonical form (zh-Hant-TW, de for ger); "" for what names
// none. An unknown region or variant is left out.
func languageTag(s string) string {
	if s == "" || len(s) > 64 {
		return ""
	}
	tag, err := language.Parse(s)
	if unknown := language.ValueError(nil); err != nil && !errors.As(err, &unknown) {
		return ""
	}
	base, confidence := tag.Base()
	if name := base.String(); confidence != language.Exact || name == "und" || name == "mul" {
		return ""
	}
	return tag.String()
}

// The names of what has none, in Raw.
const (
	rawJSONLD    = "json-ld"
	rawMicrodata = "microdata"
	rawTitle     = "title"
	rawLang      = "lang"
	rawCanonical = "canonical"
	rawLicence   = "license"
	rawImage     = "image_src"
)

// The limits of Raw.
const (
	maxEntries = 256
	maxOfOne   = 128 // values of an entry, and of a list or an object in it
	maxDepth   = 16
)

// raw are the values as they were found. The title and the language of the page are there if the
// record has others.
func (s *sources) raw(r *Record) map[string]any {
	all := map[string]any{}
	add := func(name, v string) {
		if v == "" {
			return
		}
		switch had := all[name].(type) {
		case nil:
			if len(all) < maxEntries {
				all[name] = v
			}
		case []any:
			if len(had) < maxOfOne {
				all[name] = append(had, v)
			}
		default:
			all[name] = []any{had, v}
		}
	}
	for i := range s.metas {
		add(s.metas[i].name, attribute(s.metas[i].content, maxText))
	}
	if v := text(s.page.title, maxTitle); v != r.Title {
		add(rawTitle, v)
	}
	if v := attribute(s.lang, maxName); v != r.Language {
		add(rawLang, v)
	}
	for _, link := range []struct {
		name string
		refs [][]byte
	}{
		{rawCanonical, [][]byte{s.canonical}}, {rawImage, [][]byte{s.page.image}},
		{rawLicence, append([][]byte{s.page.licence}, s.licences...)},
	} {
		for _, ref := range link.refs {
			add(link.name, clean(reference(ref), maxText))
		}
	}
	for name, list := range map[string][]any{rawJSONLD: s.jsonLD, rawMicrodata: s.microdata} {
		if len(list) > 0 {
			all[name] = bounded(list, 0)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// bounded is a copy of a value that shares no memory with the page, with long strings, lists and
// objects cut, and what is nested too deeply left out.
func bounded(v any, depth int) any {
	switch v := v.(type) {
	case string:
		return clean(v, maxText)
	case json.Number:
		if len(v) > maxName {
			return nil
		}
		return v
	case []any:
		out := make([]any, 0, min(len(v), maxOfOne))
		for _, v := range v {
			if len(out) == maxOfOne || depth >= maxDepth {
				break
			}
			out = append(out, bounded(v, depth+1))
		}
		return out
	case object:
		out := object{}
		for _, name := range slices.Sorted(maps.Keys(v)) { // the same ones each time
			if len(out) == maxOfOne || depth >= maxDepth {
				break
			}
			out[clean(name, maxName)] = bounded(v[name], depth+1)
		}
		return out
	}
	return v
}
