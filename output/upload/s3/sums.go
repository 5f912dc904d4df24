package s3

import (
	"bytes"
	"crypto/md5" //nolint:gosec // the digest that object stores compute
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
)

const (
	// leastPart is the size of a part of all but very large files.
	leastPart = 16 << 20
	mostParts = 10_000
)

// partSize is the size of the parts of a file, least at the least.
func partSize(size, least int64) int64 {
	if size <= least*mostParts {
		return least
	}
	return (size/mostParts/(1<<20) + 1) << 20
}

// part is a part of a file.
type part struct {
	offset, size int64
	digested     bool
	md5          [md5.Size]byte
	sha256       string // in hex; "" unless it was asked for
}

// split divides a file into parts of a size. An empty file has one.
func split(size, step int64) (parts []part) {
	for offset := int64(0); offset < size || offset == 0; offset += step {
		parts = append(parts, part{offset: offset, size: min(step, size-offset)})
	}
	return parts
}

// digest reads the part once, if it was not. SHA-256 costs half as much again as MD5, so it is made
// only for stores that want it.
func (p *part) digest(r io.ReaderAt, secure bool) error {
	if p.digested {
		return nil
	}
	m, s := md5.New(), sha256.New() //nolint:gosec // see above
	out := io.MultiWriter(m, s)
	if secure {
		out = m
	}
	if n, err := io.Copy(out, io.NewSectionReader(r, p.offset, p.size)); err != nil || n != p.size {
		return fmt.Errorf("read %d of %d bytes at %d: %w", n, p.size, p.offset, orShort(err))
	}
	copy(p.md5[:], m.Sum(nil))
	if !secure {
		p.sha256 = hex.EncodeToString(s.Sum(nil))
	}
	p.digested = true
	return nil
}

func (p *part) hexMD5() string    { return hex.EncodeToString(p.md5[:]) }
func (p *part) base64MD5() string { return base64.StdEncoding.EncodeToString(p.md5[:]) }

func orShort(err error) error {
	if err == nil {
		return io.ErrUnexpectedEOF
	}
	return err
}

// tagOf is the entity tag that S3 gives an object of these parts.
func tagOf(r io.ReaderAt, parts []part, secure bool) (string, error) {
	all := md5.New() //nolint:gosec // see above
	for i := range parts {
		if err := parts[i].digest(r, secure); err != nil {
			return "", err
		}
		all.Write(parts[i].md5[:])
	}
	if len(parts) == 1 {
		return parts[0].hexMD5(), nil
	}
	return fmt.Sprintf("%s-%d", hex.EncodeToString(all.Sum(nil)), len(parts)), nil
}

// differ finds the first block in which two files of a size are not equal; -1: they are.
func differ(a, b io.ReaderAt, size int64) (offset int64, err error) {
	const block = 1 << 20
	x, y := make([]byte, min(size, block)), make([]byte, min(size, block))
	for at := int64(0); at < size; at += block {
		n := min(block, size-at)
		if k, err := a.ReadAt(x[:n], at); int64(k) != n {
			return 0, fmt.Errorf("read %d of %d bytes at %d: %w", k, n, at, orShort(err))
		}
		if k, err := b.ReadAt(y[:n], at); int64(k) != n {
			return 0, fmt.Errorf("read %d of %d bytes at %d: %w", k, n, at, orShort(err))
		}
		if !bytes.Equal(x[:n], y[:n]) {
			return at, nil
		}
	}
	return -1, nil
}
