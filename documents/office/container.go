package office

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"strings"
)

// The signatures of a zip, APPNOTE.TXT 4.3, and of a compound file: encrypted OOXML is one, with a
// stream whose name is encryptedPackage (MS-OFFCRYPTO 2.3.4.4) in UTF-16.
var (
	localHeader      = []byte("PK\x03\x04")
	directoryHeader  = []byte("PK\x01\x02")
	compoundMagic    = []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
	encryptedPackage = []byte("E\x00n\x00c\x00r\x00y\x00p\x00t\x00e\x00d\x00" +
		"P\x00a\x00c\x00k\x00a\x00g\x00e\x00")
)

// Fields of a zip's headers.
const (
	flagEncrypted  = 1 << 0
	flagDescriptor = 1 << 3 // the sizes follow the data
	localSize      = 30     // bytes of a local header without name and extra field
	unknownSize    = 1<<32 - 1
)

var errMissing = errors.New("is missing")

// container gives the entries of a zip, unpacked within a budget. It is used by one goroutine.
type container struct {
	ctx     context.Context
	entries map[string]*entry // by folded name
	left    int64             // bytes that may still be unpacked
}

// entry is one file of the zip: found in its directory, or salvaged without one.
type entry struct {
	listed *zip.File
	flags  uint16
	method uint16
	packed []byte // of a salvaged entry: its data, and perhaps what follows
}

// fold is the name under which an entry is looked up. OPC ignores case; some producers write
// backslashes.
func fold(name string) string {
	return strings.ToLower(strings.TrimLeft(strings.ReplaceAll(name, `\`, "/"), "/"))
}

// openContainer lists the entries of a zip; of two with one name, the first counts. If the zip has
// no directory that can be read, its entries are salvaged, and the error says so.
func openContainer(ctx context.Context, body []byte, l Limits) (*container, error) {
	// A header of the directory takes 46 bytes in the file and hundreds in memory.
	if bytes.Count(body, directoryHeader) > l.Entries {
		return nil, fmt.Errorf("the zip has more than %d entries: %w", l.Entries, ErrLimit)
	}
	c := &container{ctx: ctx, left: l.Unpacked, entries: map[string]*entry{}}
	z, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		c.salvage(body, l.Entries)
		return c, fmt.Errorf("the zip's directory %w: %w", ErrDamaged, err)
	}
	for _, f := range z.File {
		c.add(f.Name, &entry{listed: f, flags: f.Flags, method: f.Method})
	}
	return c, nil
}

func (c *container) add(name string, e *entry) {
	if name = fold(name); c.entries[name] == nil {
		c.entries[name] = e
	}
}

// salvage finds entries by their local headers.
func (c *container) salvage(body []byte, limit int) {
	for range limit {
		i := bytes.Index(body, localHeader)
		if i < 0 || len(body)-i < localSize {
			return
		}
		h := body[i:]
		little := binary.LittleEndian
		e := &entry{flags: little.Uint16(h[6:]), method: little.Uint16(h[8:])}
		size := little.Uint32(h[18:])
		name := int(little.Uint16(h[26:]))
		start := localSize + name + int(little.Uint16(h[28:]))
		if start > len(h) {
			return
		}
		known := e.flags&flagDescriptor == 0 && size != unknownSize
		body = h[start:]
		e.packed = body
		if n := uint64(size); known && n <= uint64(len(body)) {
			e.packed, body = body[:n], body[n:]
		} else if next := bytes.Index(body, localHeader); e.method == zip.Store && next >= 0 {
			e.packed = body[:next]
		}
		c.add(string(h[localSize:localSize+name]), e)
	}
}

// has reports whether there is an entry of this name.
func (c *container) has(name string) bool { return c.entries[fold(name)] != nil }

// open unpacks an entry. What is read from it counts against the budget of the container.
func (c *container) open(name string) (io.Reader, error) {
	e := c.entries[fold(name)]
	if e == nil {
		if plain, err := url.PathUnescape(name); err == nil {
			e = c.entries[fold(plain)]
		}
	}
	switch {
	case e == nil:
		return nil, fmt.Errorf("%q %w: %w", short(name), errMissing, ErrDamaged)
	case e.flags&flagEncrypted != 0:
		return nil, fmt.Errorf("%q %w", short(name), ErrEncrypted)
	case e.listed != nil:
		f, err := e.listed.Open()
		if err != nil {
			return nil, partError(name, err)
		}
		return &unpacked{c: c, r: f}, nil
	case e.method == zip.Store:
		return &unpacked{c: c, r: bytes.NewReader(e.packed)}, nil
	case e.method == zip.Deflate:
		return &unpacked{c: c, r: flate.NewReader(bytes.NewReader(e.packed))}, nil
	}
	return nil, partError(name, zip.ErrAlgorithm)
}

// read unpacks a whole entry that has at most limit bytes.
func (c *container) read(name string, limit int64) ([]byte, error) {
	f, err := c.open(name)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		b, err = b[:limit], fmt.Errorf("has more than %d bytes: %w", limit, ErrLimit)
	}
	return b, partError(name, err)
}

// unpacked is an open entry.
type unpacked struct {
	c *container
	r io.Reader
}

func (u *unpacked) Read(p []byte) (int, error) {
	if err := u.c.ctx.Err(); err != nil {
		return 0, err
	}
	// One byte more than is left tells an entry that just fits from one that does not.
	if int64(len(p)) > u.c.left+1 {
		p = p[:u.c.left+1]
	}
	n, err := u.r.Read(p)
	if int64(n) > u.c.left {
		n = int(u.c.left)
		err = fmt.Errorf("unpacked bytes: %w", ErrLimit)
	}
	u.c.left -= int64(n)
	return n, err
}

// resolve is the name of the entry that target, a reference in the entry base, means. A path that
// leads out of the container ends at its root.
func resolve(base, target string) string {
	target, _, _ = strings.Cut(target, "#")
	target = strings.ReplaceAll(target, `\`, "/")
	if !strings.HasPrefix(target, "/") {
		target = path.Join(path.Dir("/"+base), target)
	}
	return strings.TrimLeft(path.Clean(target), "/")
}
