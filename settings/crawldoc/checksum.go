package crawldoc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/zeebo/xxh3"
)

// The document on disk has a checksum of all its bytes, computed with the checksum's own digits as
// zeros. Without it a flipped byte could be read as another setting. A document that an earlier
// version wrote, or that a person edited and from which that line was removed, has none and is
// read.

const (
	checksumKey = "checksum"
	noChecksum  = "0000000000000000"
)

var errChecksum = errors.New(
	"its checksum does not fit: a byte of it has changed since it was written")

// digits finds the digits of the checksum in an encoded document; nil: there are none. The text of
// a value cannot be mistaken for it, because quotes are escaped there.
func digits(b []byte) []byte {
	key := []byte(`"` + checksumKey + `": "`)
	at := bytes.LastIndex(b, key)
	if at < 0 || len(b) < at+len(key)+len(noChecksum) {
		return nil
	}
	return b[at+len(key):][:len(noChecksum)]
}

// sign replaces the zeros in an encoded document by its checksum.
func sign(b []byte) {
	copy(digits(b), fmt.Sprintf("%016x", xxh3.Hash(b)))
}

// verify compares an encoded document with the checksum that was read from it.
func verify(b []byte, found string) error {
	if found == "" {
		return nearlyChecksum(b)
	}
	b = bytes.Clone(bytes.TrimSpace(b)) // files.Replace may append line ends
	d := digits(b)
	if d == nil || string(d) != found {
		return errChecksum
	}
	copy(d, noChecksum)
	if fmt.Sprintf("%016x", xxh3.Hash(b)) != found {
		return errChecksum
	}
	return nil
}

// nearlyChecksum refuses a document whose checksum is not read because a byte of its name has
// changed, or because it is empty.
func nearlyChecksum(b []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(b, &fields); err != nil {
		return err
	}
	for name := range fields {
		if letters := []rune(name); len(letters) == len(checksumKey) &&
			differingLetters(letters, []rune(checksumKey)) <= 1 {
			return errChecksum
		}
	}
	return nil
}

// differingLetters counts the letters in which two texts of one length differ.
func differingLetters(a, b []rune) (n int) {
	for i := range a {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}
