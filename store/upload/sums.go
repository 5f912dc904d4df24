package upload

import (
	"crypto/md5" //nolint:gosec // the digest that object stores compute
	"crypto/sha256"
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

// Part is a part of a file with its digests.
type Part struct {
	Offset, Size int64
	MD5          [md5.Size]byte
	SHA256       [sha256.Size]byte
}

// Sums reads a file and returns its parts, of a size. An empty file has one.
func Sums(r io.ReaderAt, size, step int64) ([]Part, error) {
	var parts []Part
	for offset := int64(0); offset < size || offset == 0; offset += step {
		p := Part{Offset: offset, Size: min(step, size-offset)}
		m, s := md5.New(), sha256.New() //nolint:gosec // see above
		if n, err := io.Copy(io.MultiWriter(m, s), io.NewSectionReader(r, offset, p.Size)); err != nil || n != p.Size {
			return nil, fmt.Errorf("read %d of %d bytes at %d: %w", n, p.Size, offset, orShort(err))
		}
		copy(p.MD5[:], m.Sum(nil))
		copy(p.SHA256[:], s.Sum(nil))
		parts = append(parts, p)
	}
	return parts, nil
}

func orShort(err error) error {
	if err == nil {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Tag is the entity tag that S3 gives an object of these parts.
func Tag(parts []Part) string {
	if len(parts) == 1 {
		return hex.EncodeToString(parts[0].MD5[:])
	}
	all := md5.New() //nolint:gosec // see above
	for i := range parts {
		all.Write(parts[i].MD5[:])
	}
	return fmt.Sprintf("%s-%d", hex.EncodeToString(all.Sum(nil)), len(parts))
}
