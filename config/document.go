package config

import (
	"reflect"
	"slices"
	"strings"

	"crawlnode/crawl"
)

// The settings of the crawl have two forms: in Config as a person writes them, in crawl.Settings,
// the larger part of the crawl document, as nodes store and send them and as the engine reads them.
// The tags of Config say how one becomes the other:
//
//	live      only settings with cluster or founding have a key in the document
//	name      the key is the flag's name, with _ for -
//	doc       "key=word": the key has another name, and is true when the setting is that word
//	default   is left out of the document when the key says omitempty: documents of older nodes
//	          lack the key, and mean the default
//	empty     what stands in such a key for an empty value
//	together  names a key: it and all others with the same tag are left out when all have their
//	          defaults, and are there otherwise
//
// What follows no rule is in exceptions.

// exception is how a setting without a rule is written into the document and read from it.
type exception struct {
	store func(c *Config, s *crawl.Settings, version string)
	load  func(c *Config, s *crawl.Settings, version string)
}

// exceptions are the settings that follow no rule. They are converted after all others.
func exceptions() map[string]exception {
	return map[string]exception{
		"assets":     {store: storeAssets, load: loadAssets},
		"user-agent": {store: storeUserAgent, load: loadUserAgent},
	}
}

// both is one setting of the crawl in both of its forms.
type both struct {
	field
	doc  reflect.Value
	omit bool // the default is left out of the document
}

// settingsOfCrawl lists the settings of the crawl, in the order of declaration, with their values
// in c and s.
func settingsOfCrawl(c *Config, s *crawl.Settings) []both {
	type key struct {
		index int
		omit  bool
	}
	keys, document := map[string]key{}, reflect.ValueOf(s).Elem()
	for i := range document.NumField() {
		name, options, _ := strings.Cut(document.Type().Field(i).Tag.Get("json"), ",")
		keys[name] = key{i, options == "omitempty"}
	}
	var settings []both
	for _, f := range fieldsOf(c) {
		if k, ok := keys[f.docKey()]; ok && f.ofCrawl() {
			settings = append(settings, both{f, document.Field(k.index), k.omit})
		}
	}
	return settings
}

// ofCrawl reports whether the setting is the same on all nodes.
func (f field) ofCrawl() bool {
	return slices.Contains([]string{"cluster", "founding"}, f.tag.Get("live"))
}

// docKey is the setting's key in the document, if it has one.
func (f field) docKey() string {
	if key, _, ok := strings.Cut(f.tag.Get("doc"), "="); ok {
		return key
	}
	return f.key()
}

// key is the setting's name in JSON.
func (f field) key() string { return strings.ReplaceAll(f.name, "-", "_") }

// Settings is the part of c that belongs to the cluster. The founding node's
// settings become the cluster's; a joiner takes those over.
//
// The version is part of the default user agent. Delay 0 and RobotsIgnore apply
// only inside AllowNet: the fetching node checks the address.
func (c *Config) Settings(version string) crawl.Settings {
	own := *c
	var s crawl.Settings
	def := map[string]any{}
	for _, f := range fieldsOf(defaults()) {
		def[f.name] = f.value.Interface()
	}
	settings, special := settingsOfCrawl(&own, &s), exceptions()
	// together are the keys whose settings do not all have their defaults.
	together := map[string]bool{}
	for _, b := range settings {
		if !reflect.DeepEqual(b.value.Interface(), def[b.name]) {
			together[b.tag.Get("together")] = true
		}
	}
	for _, b := range settings {
		if _, ok := special[b.name]; ok {
			continue
		}
		if key := b.tag.Get("together"); key != "" {
			if together[key] {
				b.store()
			}
		} else if !b.omit || !reflect.DeepEqual(b.value.Interface(), def[b.name]) {
			b.store()
		}
	}
	for _, e := range special {
		e.store(&own, &s, version)
	}
	return s
}

// store writes the setting into the document.
func (b both) store() {
	switch v := b.value; {
	case b.doc.Kind() == reflect.Bool && v.Kind() == reflect.String:
		_, word, _ := strings.Cut(b.tag.Get("doc"), "=")
		b.doc.SetBool(v.String() == word)
	case b.doc.Kind() == reflect.Pointer && b.doc.Type().Elem() == v.Type():
		b.doc.Set(reflect.New(v.Type()))
		b.doc.Elem().Set(v)
	case v.Type() == reflect.TypeFor[Topic]():
		b.doc.Set(reflect.ValueOf(v.Interface().(Topic).Topic))
	case v.Type() == reflect.TypeFor[Sites]():
		b.doc.SetString(v.Interface().(Sites).Text)
	case v.Kind() == reflect.String && v.Len() == 0:
		b.doc.SetString(b.tag.Get("empty"))
	default:
		b.doc.Set(copied(v).Convert(b.doc.Type()))
	}
}

// ofSettings is the inverse of Settings: a Config whose Settings(version) are s. A default user
// agent, of whatever version, is generated again, so that it follows the contact.
func ofSettings(s *crawl.Settings, version string) Config {
	c, document := Default(), *s
	settings, special := settingsOfCrawl(&c, &document), exceptions()
	there := map[string]bool{}
	for _, b := range settings {
		there[b.docKey()] = !b.doc.IsZero()
	}
	for _, b := range settings {
		if _, ok := special[b.name]; ok {
			continue
		}
		load := !b.omit || !b.doc.IsZero()
		if key := b.tag.Get("together"); key != "" {
			load = there[key]
		}
		if load {
			b.load()
		}
	}
	for _, e := range special {
		e.load(&c, &document, version)
	}
	return c
}

// load reads the setting from the document.
func (b both) load() {
	switch v := b.value; {
	case b.doc.Kind() == reflect.Bool && v.Kind() == reflect.String:
		_, yes, _ := strings.Cut(b.tag.Get("doc"), "=")
		for _, word := range b.words() {
			if (word == yes) == b.doc.Bool() {
				v.SetString(word)
			}
		}
	case b.doc.Kind() == reflect.Pointer && b.doc.Type().Elem() == v.Type():
		v.Set(b.doc.Elem())
	case v.Type() == reflect.TypeFor[Topic]():
		v.Set(reflect.ValueOf(Topic{Topic: b.doc.Interface().(*crawl.Topic)}))
	case v.Type() == reflect.TypeFor[Sites]():
		v.Set(reflect.ValueOf(Sites{Text: b.doc.String()}))
	default:
		v.Set(copied(b.doc).Convert(v.Type()))
	}
}

// copied is a value that shares no list with v.
func copied(v reflect.Value) reflect.Value {
	if v.Kind() != reflect.Slice || v.IsNil() {
		return v
	}
	list := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
	reflect.Copy(list, v)
	return list
}

// storeAssets writes two switches: nodes of earlier versions know only the first.
func storeAssets(c *Config, s *crawl.Settings, _ string) {
	s.AssetsSameHost = c.Assets == crawl.AssetsSameHost
	s.Assets = s.AssetsSameHost || c.Assets == crawl.AssetsAny
}

func loadAssets(c *Config, s *crawl.Settings, _ string) { c.Assets = s.AssetPolicy() }

// storeUserAgent writes the header, also when it is the default.
func storeUserAgent(c *Config, s *crawl.Settings, version string) {
	s.UserAgent = c.userAgent(version)
}

// loadUserAgent takes a user agent that is not the default one of any version.
func loadUserAgent(c *Config, s *crawl.Settings, version string) {
	name, rest, _ := strings.Cut(c.userAgent(version), " ")
	theirName, theirRest, _ := strings.Cut(s.UserAgent, " ")
	if rest != theirRest || product(name) != product(theirName) {
		c.UserAgent = s.UserAgent
	}
}

// product is the name in a product token.
func product(token string) string {
	name, _, _ := strings.Cut(token, "/")
	return name
}

// inDocument reports whether the setting has a key in the document.
func (f field) inDocument() bool {
	document := reflect.TypeFor[crawl.Settings]()
	for i := range document.NumField() {
		name, _, _ := strings.Cut(document.Field(i).Tag.Get("json"), ",")
		if name == f.docKey() {
			return f.ofCrawl()
		}
	}
	return false
}

// changeable reports whether the setting can be changed while the crawl runs.
func (f field) changeable() bool { return f.tag.Get("fixed") == "" && f.inDocument() }
