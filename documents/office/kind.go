package office

import (
	"bytes"
	"context"
	"strings"
)

// maxMarker is the number of bytes of the parts that say what a zip is.
const maxMarker = 1 << 20

// mainTypes are the content types of main parts of OOXML, by the word that only they have; all end
// in ".main+xml". Binary workbooks (xlsb) end otherwise.
var mainTypes = []struct {
	word string
	kind Kind
}{
	{"wordprocessingml", Word}, {"ms-word", Word},
	{"spreadsheetml", Sheet}, {"ms-excel", Sheet},
	{"presentationml", Slides}, {"ms-powerpoint", Slides},
}

// mainType is the kind of an OOXML file whose main part is of this type.
func mainType(contentType string) Kind {
	t := strings.ToLower(contentType)
	if !strings.HasSuffix(t, ".main+xml") {
		return None
	}
	for _, m := range mainTypes {
		if strings.Contains(t, m.word) {
			return m.kind
		}
	}
	return None
}

// storedType is the kind of a file whose mimetype entry, or manifest, has this type.
func storedType(t string) Kind {
	t = strings.TrimSpace(t)
	if t == "application/epub+zip" {
		return EPUB
	}
	t, ok := strings.CutPrefix(t, "application/vnd.oasis.opendocument.")
	if !ok {
		return None
	}
	switch t {
	case "text", "text-template", "text-master", "text-master-template", "text-web":
		return ODFText
	case "spreadsheet", "spreadsheet-template":
		return ODFSheet
	case "presentation", "presentation-template":
		return ODFSlides
	}
	return None
}

// hinted is the kind that a media type of HTTP names.
func hinted(mediaType string) Kind {
	t, _, _ := strings.Cut(strings.ToLower(mediaType), ";")
	t = strings.TrimSpace(t)
	if k := storedType(t); k != None {
		return k
	}
	for _, m := range mainTypes {
		if strings.Contains(t, m.word) && !strings.Contains(t, "binary") {
			return m.kind
		}
	}
	return None
}

// mainParts are the parts by which a zip that lacks the part with its type is recognised.
var mainParts = []struct {
	name  string
	kinds []Kind
}{
	{"word/document.xml", []Kind{Word}},
	{"xl/workbook.xml", []Kind{Sheet}},
	{"ppt/presentation.xml", []Kind{Slides}},
	{"content.xml", []Kind{ODFText, ODFSheet, ODFSlides}},
}

// KindOf is the kind of a file by its content; None for everything else, other zips included. The
// media type decides only where the content cannot: for a zip that lost the part that says what it
// is, and for an encrypted file, which is no zip.
func KindOf(body []byte, mediaType string) Kind {
	switch {
	case bytes.HasPrefix(trimRTF(body), []byte(`{\rtf`)):
		return RTF
	case bytes.HasPrefix(body, compoundMagic):
		if bytes.Contains(body, encryptedPackage) {
			return hinted(mediaType)
		}
		return None
	case !bytes.HasPrefix(body, localHeader):
		return None
	}
	l := Limits{Unpacked: maxMarker}.withDefaults(len(body))
	z, _ := openContainer(context.Background(), body, l)
	if z == nil {
		return None
	}
	if b, err := z.read("mimetype", 256); err == nil {
		return storedType(string(b))
	}
	if z.has("[Content_Types].xml") {
		r := &reader{ctx: context.Background(), l: l, zip: z}
		kind := None
		_ = r.part("[Content_Types].xml", true, func(_ *xmlReader, _, e element) error {
			if kind == None {
				kind = mainType(attr(e, "ContentType"))
			}
			return nil
		})
		if kind != None || !z.has("_rels/.rels") {
			return kind
		}
	}
	if z.has("META-INF/container.xml") && !z.has("META-INF/MANIFEST.MF") {
		return EPUB
	}
	r := &reader{ctx: context.Background(), l: l, zip: z}
	kind := None
	_ = r.part("META-INF/manifest.xml", false, func(_ *xmlReader, _, e element) error {
		if attr(e, "full-path") == "/" {
			kind = storedType(attr(e, "media-type"))
		}
		return nil
	})
	if kind != None {
		return kind
	}
	hint := hinted(mediaType)
	for _, m := range mainParts {
		for _, k := range m.kinds {
			if k == hint && z.has(m.name) {
				return k
			}
		}
	}
	return None
}

// trimRTF removes what some programs write before the signature of RTF.
func trimRTF(body []byte) []byte {
	return bytes.TrimLeft(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")), " \t\r\n")
}
