package office

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"crawlnode/documents/page"
)

// book reads an EPUB: the package document says the properties and the order of the chapters.
type book struct {
	*reader
	chapters  map[string]chapter // the manifest, by identifier
	spine     []string
	encrypted map[string]bool // entries that are, fonts that are only obscured excepted
}

type chapter struct{ part, mediaType string }

// The algorithms that obscure fonts, which is no encryption: EPUB 3.3, 4.4, and Adobe's.
const (
	obscuredIDPF  = "http://www.idpf.org/2008/embedding"
	obscuredAdobe = "http://ns.adobe.com/pdf/enc#RC"
)

func readEPUB(r *reader) error {
	d := &book{reader: r, chapters: map[string]chapter{}, encrypted: map[string]bool{}}
	r.note(d.readEncryption())
	main := ""
	r.note(r.part("META-INF/container.xml", true, func(x *xmlReader, _, _ element) error {
		return x.each(func(e element) error {
			if e.Name.Local == "rootfile" && main == "" {
				main = resolve("", attr(e, "full-path"))
			}
			return nil
		}, nil)
	}))
	if main == "" {
		return fmt.Errorf("the container names no package document: %w", ErrDamaged)
	}
	r.note(r.part(main, true, func(x *xmlReader, _, e element) error {
		switch e.Name.Local {
		case "metadata":
			return d.metadata(x)
		case "manifest":
			return x.each(func(e element) error {
				if d.room(len(d.chapters)) {
					part := resolve(main, attr(e, "href"))
					d.chapters[attr(e, "id")] = chapter{part, attr(e, "media-type")}
				}
				return nil
			}, nil)
		case "spine":
			return x.each(func(e element) error {
				if d.room(len(d.spine)) {
					d.spine = append(d.spine, attr(e, "idref"))
				}
				return nil
			}, nil)
		}
		return nil
	}))
	seen := map[string]bool{}
	for _, id := range d.spine {
		if r.stop() != nil {
			break
		}
		c, ok := d.chapters[id]
		if !ok || seen[id] || strings.HasPrefix(c.mediaType, "image/") {
			continue
		}
		seen[id] = true
		if d.encrypted[fold(c.part)] {
			r.note(fmt.Errorf("%q %w", short(c.part), ErrEncrypted))
			continue
		}
		f, err := r.zip.open(c.part)
		if err == nil {
			err = readXHTML(r, f)
		}
		r.out.reset()
		r.note(partError(c.part, err))
	}
	return nil
}

func (d *book) readEncryption() error {
	return d.part("META-INF/encryption.xml", false, func(x *xmlReader, _, e element) error {
		if e.Name.Local != "EncryptedData" {
			return nil
		}
		var algorithm, name string
		var walk func(element) error
		walk = func(e element) error {
			switch e.Name.Local {
			case "EncryptionMethod":
				algorithm = attr(e, "Algorithm")
			case "CipherReference":
				name = resolve("", attr(e, "URI"))
			case "KeyInfo":
				return nil
			}
			return x.each(walk, nil)
		}
		err := x.each(walk, nil)
		obscured := algorithm == obscuredIDPF || algorithm == obscuredAdobe
		if !obscured && name != "" && d.room(len(d.encrypted)) {
			d.encrypted[fold(name)] = true
		}
		return err
	})
}

// metadata reads the properties: Dublin Core, and those of EPUB 3 and 2 that are no part of it.
func (d *book) metadata(x *xmlReader) error {
	return x.each(func(e element) error {
		if e.Name.Local == "dc-metadata" || e.Name.Local == "x-metadata" { // of the time before EPUB
			return d.metadata(x)
		}
		value, err := x.text()
		switch e.Name.Local {
		case "title":
			d.page.Title(value)
		case "creator":
			if role := attr(e, "role"); role == "" || role == "aut" {
				d.page.Property(page.Author, value)
			}
		case "language":
			d.language(value)
		case "date":
			switch attr(e, "event") {
			case "modification":
				d.page.Property(page.Modified, isoTime(value))
			case "", "publication", "original-publication", "creation":
				d.page.Property(page.Created, isoTime(value))
			}
		case "publisher":
			d.page.Property(page.Publisher, value)
		case "rights":
			d.page.Property(page.Rights, value)
		case "description":
			d.page.Property(page.Description, plainText(value))
		case "subject":
			d.keyword(value)
		case "type":
			d.page.Property(page.Type, value)
		case "identifier":
			d.page.Property(page.Identifier, value)
		case "meta":
			if attr(e, "property") == "dcterms:modified" && attr(e, "refines") == "" {
				d.page.Property(page.Modified, isoTime(value))
			}
			if attr(e, "name") == "generator" {
				d.page.Property(page.Generator, attr(e, "content"))
			}
		}
		return err
	}, nil)
}

// isEOF reports whether a tokenizer has ended without a failure.
func isEOF(err error) bool { return err == nil || errors.Is(err, io.EOF) }
