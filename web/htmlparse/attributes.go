package htmlparse

import "bytes"

// attributes are the used attributes of one tag: values that point into the page, or into a copy if
// they contain character references. Values that has does not list belong to earlier tags: clearing
// all of them for each tag would cost more than reading the tag.
type attributes struct {
	has    uint32 // a bit for each attr
	values [attrs][]byte
}

// attr is one of the attributes that are used.
type attr uint8

const (
	noAttr attr = iota
	attrHref
	attrXlink
	attrSrc
	attrSrcset
	attrImageSrcset
	attrSrcdoc
	attrDataSrc
	attrDataSrcset
	attrData
	attrPoster
	attrRel
	attrLang
	attrType
	attrName
	attrContent
	attrHTTPEquiv
	attrCharset
	attrShadow
	attrs // the number of them
)

// get returns an attribute's value. It is nil if and only if the tag does not have the attribute.
func (a *attributes) get(k attr) []byte {
	if a.has>>k&1 == 0 {
		return nil
	}
	return a.values[k]
}

// read fills a from the current tag, to its end, and reports whether the tag is complete. Of a
// repeated attribute the first counts (HTML Standard, section 13.2.5.33).
func (a *attributes) read(s *scanner) bool {
	a.has = 0
	for {
		key, val, ok := s.attribute()
		if !ok {
			return !s.cut
		}
		if k := attrOf(key); k != noAttr && a.has>>k&1 == 0 {
			a.has |= 1 << k
			a.values[k] = value(val)
		}
	}
}

// value is an attribute's value without character references and NULs.
func value(raw []byte) []byte {
	if bytes.IndexByte(raw, 0) >= 0 {
		raw = bytes.ReplaceAll(raw, []byte{0}, []byte("\uFFFD"))
	}
	return unescape(raw, true)
}

// attrOf returns which attribute the key names, in any case.
func attrOf(key []byte) attr {
	var buf [len("shadowrootmode")]byte // the longest name
	if len(key) > len(buf) {
		return noAttr
	}
	for i, c := range key {
		buf[i] = lower(c)
	}
	switch string(buf[:len(key)]) {
	case "href":
		return attrHref
	case "xlink:href":
		return attrXlink
	case "src":
		return attrSrc
	case "srcset":
		return attrSrcset
	case "imagesrcset":
		return attrImageSrcset
	case "srcdoc":
		return attrSrcdoc
	case "data-src":
		return attrDataSrc
	case "data-srcset":
		return attrDataSrcset
	case "data":
		return attrData
	case "poster":
		return attrPoster
	case "rel":
		return attrRel
	case "lang", "xml:lang":
		return attrLang
	case "type":
		return attrType
	case "name":
		return attrName
	case "content":
		return attrContent
	case "http-equiv":
		return attrHTTPEquiv
	case "charset":
		return attrCharset
	case "shadowrootmode":
		return attrShadow
	}
	return noAttr
}
