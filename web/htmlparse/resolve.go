package htmlparse

import (
	"strings"

	"golang.org/x/net/html/charset"

	"crawlnode/web/urlnorm"
)

// Resolve resolves a further reference of the page as Parse does. ref is in the page's encoding,
// and its character references are replaced.
func (d *Document) Resolve(ref []byte) (urlnorm.URL, error) {
	ref = ref[:min(len(ref), maxRef)]
	for len(ref) > 0 && ref[0] <= ' ' {
		ref = ref[1:]
	}
	text := string(ref)
	if d.Charset == "utf-8" || isASCII(text) {
		return d.Base.Resolve(text)
	}
	enc, _ := charset.Lookup(d.Charset)
	if enc == nil {
		return d.Base.Resolve(text)
	}
	decoded, err := convert(enc, ref)
	if err != nil {
		return d.Base.Resolve(text)
	}
	text = string(decoded)
	if d.Charset != "replacement" && !strings.HasPrefix(d.Charset, "utf-16") {
		text = encodeQuery(text, enc)
	}
	return d.Base.Resolve(text)
}
