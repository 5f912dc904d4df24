package archive

import (
	"bufio"
	"bytes"
	"crypto/sha1" //nolint:gosec // see encode.go
	"fmt"
	"io"
	"os"
	"strings"
)

// digestKeep is how much of a block is kept where only its digests are wanted, in bytes. The head
// of an HTTP message is in it, or its payload is not compared.
const digestKeep = 1 << 20

// sums are the digests of a block of which a part was not kept.
type sums struct {
	block, payload string
	size           int64 // of the payload
}

// ScanDigests is Scan for those who compare digests: of a block longer than a megabyte the rest is
// read and not kept, so a record costs no more memory than that, whatever it unpacks to. Verify
// compares the whole.
func ScanDigests(path string, fn func(Record) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	_, err = scanKeeping(f, 0, maxVerified, digestKeep, fn)
	if _, ok := err.(*DamageError); ok { //nolint:errorlint // as scan returns it
		return fmt.Errorf("%s: %w", path, err)
	}
	return err
}

// maxVerified bounds a block that is only read through, in bytes.
const maxVerified = 1 << 40

// readBlock reads a block of so many bytes and keeps the first ones. isHTTP says that it has a
// head. rest is nil when all of it was kept.
func readBlock(
	text *bufio.Reader,
	length, keep int64,
	isHTTP bool,
) (block []byte, rest *sums, err error) {
	var kept bytes.Buffer
	kept.Grow(int(min(length, keep, 1<<20)))
	if n, err := io.CopyN(&kept, text, min(length, keep)); err != nil {
		return nil, nil, fmt.Errorf("the block ends after %d of %d bytes: %w", n, length, noEOF(err))
	}
	block = kept.Bytes()
	if length <= keep {
		return block, nil, nil
	}
	whole, payload := sha1.New(), sha1.New()
	whole.Write(block)
	head := 0
	if isHTTP {
		if end := bytes.Index(block, []byte("\r\n\r\n")); end >= 0 {
			head = end + len("\r\n\r\n")
		}
	}
	payload.Write(block[head:])
	if n, err := io.CopyN(io.MultiWriter(whole, payload), text, length-keep); err != nil {
		return nil, nil, fmt.Errorf("the block ends after %d of %d bytes: %w", keep+n, length, noEOF(err))
	}
	rest = &sums{
		block:   digest([20]byte(whole.Sum(nil))),
		payload: digest([20]byte(payload.Sum(nil))),
		size:    length - int64(head),
	}
	if isHTTP && head == 0 {
		rest.payload = "" // where it begins is not known
	}
	return block, rest, nil
}

// differs reports whether a digest of a record is another than the one computed. Digests other than
// SHA-1 are not compared, and neither is what could not be computed.
func differs(named, computed string) bool {
	return strings.HasPrefix(named, "sha1:") && computed != "" && named != computed
}
