package simweb

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strconv"
)

// fillerSize is the length of a block of filler.
const fillerSize = 2048

// charset is a page's encoding with a few words in it.
type charset struct {
	label    string
	words    string
	inHeader bool // else only in a meta element
}

var charsets = [...]charset{
	{"iso-8859-1", "Un caf\xe9 na\xefve \xe0 la fa\xe7on d'o\xf9 l'on est", true},
	{"windows-1251", "\xcf\xf0\xe8\xe2\xe5\xf2, \xec\xe8\xf0", false},
	{"shift_jis", "\x93\xfa\x96{\x8c\xea\x82\xcc\x83y\x81[\x83W", true},
	{"gbk", "\xd6\xd0\xce\xc4\xcd\xf8\xd2\xb3", false},
	{"euc-kr", "\xc7\xd1\xb1\xb9\xbe\xee", true},
}

var utf8Charset = charset{"utf-8", "Grüße, naïve Ωmega, 日本語, привет", true}

func (w *Web) charset(page uint32) charset {
	if !w.quirk(page, saltCharset, w.cfg.Charsets) {
		return utf8Charset
	}
	return charsets[w.random(uint64(page), saltCharset)>>32%uint64(len(charsets))]
}

// appendHead appends a page's body up to and including its links.
func (w *Web) appendHead(b []byte, hostIndex int, page uint32, links []uint32) []byte {
	h := &w.hosts[hostIndex]
	cs := w.charset(page)
	b = append(b, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\""...)
	b = append(append(b, cs.label...), "\"><title>Page "...)
	b = strconv.AppendUint(b, uint64(page-h.first), 10)
	b = append(append(b, " of "...), h.name...)
	b = append(b,
		"</title>\n<meta name=\"description\" content=\"A page of a synthetic web.\"></head>\n"+
			"<body><h1>"...)
	b = append(append(b, cs.words...), "</h1>\n<p>Of "...)
	// Each page names what no other one does, as the pages of a site that is worth a crawl do.
	own := &below{mix(w.cfg.Seed) ^ uint64(page)}
	b = append(append(b, word(6, own)...), " and "...)
	b = append(append(b, word(6, own)...), ".</p>\n<ul>\n"...)
	for i, link := range links {
		b = append(b, "<li><a href=\""...)
		b = w.appendHref(b, hostIndex, page, link, i)
		b = append(b, "\">page "...)
		b = strconv.AppendUint(b, uint64(link), 10)
		b = append(b, "</a></li>\n"...)
	}
	return append(b, "</ul>\n"...)
}

// appendHref writes a link in one of the ways that people use: a path, a whole URL, one without
// scheme, one with a fragment.
func (w *Web) appendHref(b []byte, from int, page, to uint32, i int) []byte {
	style := w.random(uint64(page)<<16|uint64(i)&0xffff, saltStyle) % 8
	target := w.hostOf(to)
	h := &w.hosts[target]
	if target != from || style < 2 {
		if style != 0 {
			b = append(append(b, w.scheme...), ':')
		}
		b = append(append(append(b, "//"...), h.name...), w.port...)
	}
	b = w.appendPath(b, h, to-h.first)
	if style == 7 {
		b = append(b, "#part"...)
	}
	return b
}

// newsWords is the length of the paragraph that makes versions differ, even where there is no room
// for filler.
const newsWords = 60

// appendNews appends, in a web that changes, what is of this version only, and what is of this
// answer only.
func (w *Web) appendNews(b []byte, v *visit) []byte {
	c := &w.cfg.Changes
	if !c.on() {
		return b
	}
	d := draws{w.random(uint64(v.page)^mix(uint64(v.held)), saltChange)}
	b = append(b, "<p>"...)
	for range newsWords {
		b = append(append(b, w.filler.words[d.next()%uint64(len(w.filler.words))]...), ' ')
	}
	b = append(b, "</p>\n"...)
	if w.quirk(v.page, saltNoise, c.Noise) {
		b = append(b, "<p>It is "...)
		b = v.start.UTC().AppendFormat(b, "2006-01-02 15:04:05")
		b = append(b, ", and you are visitor "...)
		// of one length, so that the filler is cut at the same place
		b = fmt.Appendf(b, "%020d", v.start.Sub(c.Start))
		b = append(b, ".</p>\n"...)
	}
	return b
}

const bodyEnd = "</body></html>\n"

// appendPlain appends head, filler up to the page's size, and the end.
func (w *Web) appendPlain(b []byte, page uint32, held version) []byte {
	w.eachBlock(page, held, w.pageBytes(page)-len(b)-len(bodyEnd), func(block, n int) {
		b = append(b, w.filler.text[block][:n]...)
	})
	return append(b, bodyEnd...)
}

// appendGzip appends to dst the gzip file (RFC 1952) of what appendPlain makes
// of head.
func (w *Web) appendGzip(dst, head []byte, page uint32, held version) []byte {
	dst = append(dst, 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255)
	sum, size := uint32(0), 0
	count := func(text []byte) {
		sum = crc32.Update(sum, crc32.IEEETable, text)
		size += len(text)
	}
	count(head)
	dst = appendStored(dst, head)
	w.eachBlock(page, held, w.pageBytes(page)-len(head)-len(bodyEnd), func(block, n int) {
		text := w.filler.text[block][:n]
		count(text)
		if n == fillerSize {
			dst = append(dst, w.filler.packed[block]...)
		} else {
			dst = appendStored(dst, text)
		}
	})
	count([]byte(bodyEnd))
	dst = appendStored(dst, []byte(bodyEnd))
	dst = append(dst, 1, 0, 0, 0xff, 0xff) // a last, empty stored block
	dst = binary.LittleEndian.AppendUint32(dst, sum)
	return binary.LittleEndian.AppendUint32(dst, uint32(size))
}

// appendStored appends text as stored deflate blocks (RFC 1951, 3.2.4).
func appendStored(dst, text []byte) []byte {
	for len(text) > 0 {
		n := min(len(text), 0xffff)
		dst = append(dst, 0)
		dst = binary.LittleEndian.AppendUint16(dst, uint16(n))
		dst = binary.LittleEndian.AppendUint16(dst, ^uint16(n))
		dst = append(dst, text[:n]...)
		text = text[n:]
	}
	return dst
}

// eachBlock calls f with the blocks that fill room bytes of a version of a page, and with
// how much of each is used: all of it but for the last.
func (w *Web) eachBlock(page uint32, held version, room int, f func(block, n int)) {
	r := w.random(uint64(page), saltText) ^ uint64(held)
	if held != 0 {
		r = mix(r)
	}
	for room > 0 {
		n := min(room, fillerSize)
		f(int(r%uint64(len(w.filler.text))), n)
		r = mix(r)
		room -= n
	}
}
