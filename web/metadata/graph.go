package metadata

import (
	"encoding/json"
	"slices"
	"strings"

	"crawlnode/web/urlnorm"
)

// graph is what one source describes: JSON-LD, or microdata.
type graph struct {
	base urlnorm.URL
	// candidates are the entities that the page may be about, in their order.
	candidates []object
	seen       map[string]bool   // the @id of candidates
	byID       map[string]object // those that have more than an @id
}

// newGraph reads the values of a source. Names are cut to those of schema.org.
func newGraph(values []any, base urlnorm.URL) *graph {
	g := &graph{base: base, seen: map[string]bool{}, byID: map[string]object{}}
	for _, v := range values {
		g.index(v)
	}
	for _, v := range values {
		g.outermost(v, 0)
	}
	return g
}

// index notes what has an @id, and shortens names.
func (g *graph) index(v any) {
	switch v := v.(type) {
	case []any:
		for _, v := range v {
			g.index(v)
		}
	case object:
		shortNames(v)
		if id, ok := v["@id"].(string); ok && len(v) > 1 {
			if known := g.byID[id]; known == nil || known["@type"] == nil {
				g.byID[id] = v
			}
		}
		for _, v := range v {
			g.index(v)
		}
	}
}

// shortNames cuts the prefix of schema.org off the names of an object. The names type and id are
// those of its JSON-LD context.
func shortNames(o object) {
	var long []string
	for name := range o {
		if len(name) > len("schema:") && schemaName(name) != name {
			long = append(long, name)
		}
	}
	slices.Sort(long)
	for _, name := range long {
		if short := schemaName(name); o[short] == nil {
			o[short] = o[name]
		}
		delete(o, name)
	}
	for _, name := range [...]string{"@type", "@id"} {
		if v, ok := o[name[1:]]; ok && o[name] == nil {
			o[name] = v
		}
	}
}

// outermost collects the candidates of a value.
func (g *graph) outermost(v any, depth int) {
	if len(g.candidates) >= maxItems || depth > maxNesting {
		return
	}
	switch v := v.(type) {
	case []any:
		for _, v := range v {
			g.outermost(v, depth+1)
		}
	case object:
		if id, ok := v["@id"].(string); ok && id != "" {
			if g.seen[id] {
				return
			}
			g.seen[id] = true
		}
		if typeOf(v) != "" {
			g.candidates = append(g.candidates, v)
		}
		g.outermost(v["@graph"], depth+1)
		if rankOf(typeOf(v)) == webPage {
			if main, ok := g.follow(v["mainEntity"]).(object); ok {
				g.outermost(main, depth+1)
			}
		}
	}
}

// follow is what a reference leads to: the object with the @id, when v has nothing but that.
func (g *graph) follow(v any) any {
	o, ok := v.(object)
	if !ok {
		return v
	}
	id, ok := o["@id"].(string)
	if !ok || o["name"] != nil || o["headline"] != nil {
		return v
	}
	if whole := g.byID[id]; whole != nil {
		return whole
	}
	return v
}

// typeOf is the type of an object. Of several the first one that is not general counts.
func typeOf(o object) string {
	best := ""
	for _, v := range list(o["@type"]) {
		s, ok := v.(string)
		if !ok || s == "" {
			continue
		}
		s = clean(schemaName(s), maxName)
		switch best {
		case "", "Thing", "CreativeWork", "WebPage", "Article", "Product", "Organization":
			best = s
		}
	}
	return best
}

// list is a value as a list: nothing for nil.
func list(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	}
	return []any{v}
}

// main is the main entity: the work that the page is about, nil when there is none. addresses are
// those of the page, title is its og:title.
func (g *graph) main(addresses []string, title string) object {
	best := webPage
	for _, o := range g.candidates {
		best = max(best, rankOf(typeOf(o)))
	}
	if best == webPage {
		return nil
	}
	var all, here, named []object
	for _, o := range g.candidates {
		if rankOf(typeOf(o)) != best {
			continue
		}
		all = append(all, o)
		if g.isAt(o, addresses) {
			here = append(here, o)
		}
		if title != "" && strings.EqualFold(g.title(o), title) {
			named = append(named, o)
		}
	}
	for _, some := range [][]object{here, named, all} {
		if len(some) > 0 && g.oneName(some) {
			return some[0]
		}
	}
	return nil
}

// oneName reports whether entities are the same by their names.
func (g *graph) oneName(all []object) bool {
	name := g.title(all[0])
	for _, o := range all[1:] {
		if !strings.EqualFold(g.title(o), name) {
			return false
		}
	}
	return true
}

// isAt reports whether an entity says that it is at one of the addresses.
func (g *graph) isAt(o object, addresses []string) bool {
	for _, name := range [...]string{"mainEntityOfPage", "url", "@id"} {
		for _, v := range list(o[name]) {
			if page, ok := v.(object); ok {
				if v = page["@id"]; v == nil {
					v = page["url"]
				}
			}
			ref, ok := v.(string)
			if !ok || ref == "" || len(ref) > maxRef {
				continue
			}
			if u, err := g.base.Resolve(ref); err == nil && slices.Contains(addresses, place(u)) {
				return true
			}
		}
	}
	return false
}

// place is an address as it is compared: without scheme, route and slash at the end.
func place(u urlnorm.URL) string {
	_, s, _ := strings.Cut(u.WithoutRoute().String(), "://")
	return strings.TrimSuffix(s, "/")
}

// first is the first entity of a rank or a type; nil when there is none.
func (g *graph) first(is func(name string) bool) object {
	for _, o := range g.candidates {
		if is(typeOf(o)) {
			return o
		}
	}
	return nil
}

func (g *graph) page() object {
	return g.first(func(name string) bool { return rankOf(name) == webPage && name != "ItemList" })
}

// title is the name of a work.
func (g *graph) title(o object) string {
	return g.word(o, maxTitle, "headline", "name")
}

// word is the first of the properties that has a text, in at most n bytes.
func (g *graph) word(o object, n int, names ...string) string {
	for _, name := range names {
		for _, v := range list(o[name]) {
			if s := g.text(v, n); s != "" {
				return s
			}
		}
	}
	return ""
}

// text is a value as text: that of a string, a number or a text with a language, the name of an
// entity.
func (g *graph) text(v any, n int) string {
	switch v := g.follow(v).(type) {
	case string:
		return clean(unescaped(v), n)
	case json.Number:
		return clean(v.String(), n)
	case object:
		for _, name := range [...]string{"@value", "name", "headline"} {
			for _, v := range list(v[name]) {
				switch v := v.(type) {
				case string:
					return clean(unescaped(v), n)
				case object:
					if s, ok := v["@value"].(string); ok {
						return clean(unescaped(s), n)
					}
				}
			}
		}
	}
	return ""
}

// names are the names of persons and organisations, which are written as text, as entities, or as
// references to them.
func (g *graph) names(o object, properties ...string) (all []string) {
	for _, property := range properties {
		for _, v := range list(o[property]) {
			entity, ok := g.follow(v).(object)
			if inner := entity["@list"]; ok && inner != nil {
				all = append(all, g.names(object{"": inner}, "")...)
				continue
			}
			name := g.text(v, maxAuthor)
			if ok && name == "" {
				name = strings.TrimSpace(g.text(entity["givenName"], maxAuthor) + " " +
					g.text(entity["familyName"], maxAuthor))
			}
			if all = append(all, name); len(all) >= maxAuthors {
				return all
			}
		}
		if len(all) > 0 {
			return all
		}
	}
	return all
}

// dates are the normalised dates of the properties; the first that is one counts.
func (g *graph) date(o object, names ...string) string {
	for _, name := range names {
		for _, v := range list(o[name]) {
			if s := date(g.text(v, maxDate)); s != "" {
				return s
			}
		}
	}
	return ""
}

// address is the first of the properties that has an http address: a string, or an entity such as
// an ImageObject.
func (g *graph) address(o object, names ...string) string {
	for _, name := range names {
		for _, v := range list(o[name]) {
			if s := g.resolve(g.reference(v)); s != "" {
				return s
			}
		}
	}
	return ""
}

// reference is an address as it is written in a value: a string, or a property of an entity.
func (g *graph) reference(v any) string {
	switch v := g.follow(v).(type) {
	case string:
		return v
	case object:
		for _, name := range [...]string{"url", "contentUrl", "@id", "thumbnailUrl"} {
			for _, v := range list(v[name]) {
				s, ok := v.(string)
				if name == "@id" && strings.Contains(s, "#") {
					continue // it names an entity, not a file
				}
				if ok && s != "" {
					return s
				}
			}
		}
	}
	return ""
}

// resolve is the absolute form of an http address, "" for anything else.
func (g *graph) resolve(ref string) string { return absolute(g.base, unescaped(cut(ref, maxRef))) }

// licence is the license property: an address, the name of an entity, or text.
func (g *graph) licence(o object) string {
	for _, v := range list(o["license"]) {
		if s := licence(g.base, unescaped(g.reference(v))); s != "" {
			return s
		}
		if s := g.text(v, maxTitle); s != "" {
			return s
		}
	}
	return ""
}

// language is the inLanguage property: a tag, or an entity that has one as its alternateName.
func (g *graph) language(o object) string {
	for _, v := range list(o["inLanguage"]) {
		entity, ok := g.follow(v).(object)
		if !ok {
			entity = object{"name": v}
		}
		for _, name := range [...]string{"alternateName", "identifier", "@value", "name"} {
			if tag := languageTag(g.word(entity, maxName, name)); tag != "" {
				return tag
			}
		}
	}
	return ""
}
