package mirror

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"crawlnode/web/urlnorm"
)

const (
	// maxComponent bounds a part of a path, in bytes, before a hash and an extension are added: file
	// systems allow 255, some of them 143.
	maxComponent = 80
	// maxFolders bounds the folders of a path together, in bytes. What is below has a hash in its
	// name.
	maxFolders = 140
	// maxExtension bounds the part of a name behind its last dot that is kept when it is cut.
	maxExtension = 10
)

// place is where a URL wants to be saved: folders, and a file name in a stem and an extension.
//
//	http://example.org/                    example.org/index.html
//	http://example.org:8080/a/b?x=1        example.org+8080/a/b@x=1.html
//	http://example.org/logo (image/png)    example.org/logo.png
type place struct {
	folders   []string
	stem, ext string
}

// placeOf makes the place of a URL whose content has a media type; "" when that is not known.
func placeOf(u urlnorm.URL, media string) place {
	_, authority, _ := strings.Cut(u.Origin(), "://")
	host, port := authority, ""
	if at := strings.LastIndexByte(authority, ':'); at > strings.LastIndexByte(authority, ']') {
		host, port = authority[:at], "+"+authority[at+1:]
	}
	segments := strings.Split(strings.TrimPrefix(u.Path(), "/"), "/")
	last := segments[len(segments)-1]
	p := place{folders: []string{component(strings.Trim(host, "[]")) + port}}
	size, deep := len(p.folders[0]), false
	for _, s := range segments[:len(segments)-1] {
		c := component(s)
		if size += len(c) + 1; size > maxFolders {
			deep = true
			break
		}
		p.folders = append(p.folders, c)
	}
	name := "index"
	if last != "" {
		name = clean(last)
	}
	if _, query, ok := strings.Cut(u.PathQuery(), "?"); ok {
		name += "@" + clean(query)
	}
	p.stem, p.ext = splitExtension(name)
	if fits := extensions[media]; media != "" && len(fits) > 0 &&
		!slices.Contains(fits, strings.ToLower(p.ext)) {
		p.stem, p.ext = p.stem+p.ext, fits[0]
	} else if last == "" && media == "" && p.ext == "" {
		p.ext = ".html"
	}
	if len(p.stem) > maxComponent || deep {
		p.stem = cut(p.stem, maxComponent) + "~" + hashOf(u.String())
	}
	p.stem = allowed(p.stem, p.ext)
	return p
}

// file is the path with a suffix at the stem.
func (p place) file(suffix string) string {
	return path.Join(path.Join(p.folders...), p.stem+suffix+p.ext)
}

// splitExtension cuts a name before its extension, if that is a usual one.
func splitExtension(name string) (stem, ext string) {
	ext = path.Ext(name)
	if len(ext) < 2 || len(ext) > maxExtension || len(ext) == len(name) ||
		strings.ContainsFunc(ext[1:], func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9')
		}) {
		return name, ""
	}
	return name[:len(name)-len(ext)], ext
}

// component makes the name of a folder from a part of a URL.
func component(s string) string {
	c := clean(s)
	if len(c) > maxComponent {
		c = cut(c, maxComponent) + "~" + hashOf(s)
	}
	return allowed(c, "")
}

// hashOf is the beginning of a hash of s, 12 hex digits.
func hashOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:6])
}

// cut keeps at most n bytes of s, in whole characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// clean makes a part of a URL readable and harmless: letters and digits of all scripts are decoded;
// what a file system or a shell may trip over stays, or becomes, percent-encoded, or is "_".
func clean(s string) string {
	text, err := url.PathUnescape(s)
	if err != nil || !utf8.ValidString(text) {
		text = s
	}
	var b strings.Builder
	for _, r := range norm.NFC.String(text) {
		switch {
		case r < utf8.RuneSelf && strings.ContainsRune(harmless, r),
			r >= utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)):
			b.WriteRune(r)
		case r == '/' || r == ' ' || r == '\\' || r == ':':
			b.WriteByte('_')
		default:
			for _, c := range []byte(string(r)) {
				b.WriteString("%" + strings.ToUpper(hex.EncodeToString([]byte{c})))
			}
		}
	}
	return b.String()
}

// harmless are the ASCII characters that stay.
const harmless = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~+,=@%&;!()$'"

// reserved are names that Windows has devices for, whatever their extension.
var reserved = []string{"con", "prn", "aux", "nul", "conin$", "conout$",
	"com0", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9",
	"lpt0", "lpt1", "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9",
	"com¹", "com²", "com³", "lpt¹", "lpt²", "lpt³"}

// allowed changes a name, to which ext will be added, that some file system refuses or treats
// apart.
func allowed(name, ext string) string {
	if name == "" {
		return "_"
	}
	if ext == "" && strings.HasSuffix(name, ".") {
		name = name[:len(name)-1] + "_"
	}
	if name[0] == '.' || name[0] == '-' || name[0] == '~' {
		name = "_" + name[1:]
	}
	base, _, _ := strings.Cut(name, ".")
	if slices.Contains(reserved, strings.ToLower(base)) {
		name = "_" + name
	}
	return name
}

// fold makes names alike that some file system takes for one.
func fold(name string) string {
	return strings.ToLower(strings.ToUpper(norm.NFKC.String(name)))
}

// link is a relative reference from one file to another, both paths in the folder. It has
// characters only that need no escape in HTML and CSS.
func link(from, to string) string {
	a, b := strings.Split(from, "/"), strings.Split(to, "/")
	for len(a) > 1 && len(b) > 1 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	parts := make([]string, 0, len(a)+len(b))
	for range len(a) - 1 {
		parts = append(parts, "..")
	}
	for _, name := range b {
		parts = append(parts, escape(name))
	}
	return strings.Join(parts, "/")
}

// escape percent-encodes what is not plain in a path.
func escape(name string) string {
	var b strings.Builder
	for _, c := range []byte(name) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			strings.IndexByte("-._~+=@!$", c) >= 0 {
			b.WriteByte(c)
		} else {
			b.WriteString("%" + strings.ToUpper(hex.EncodeToString([]byte{c})))
		}
	}
	return b.String()
}
