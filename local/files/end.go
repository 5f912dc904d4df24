package files

import (
	"fmt"
	"io"
)

// End is the end of a file that grows by whole pieces.
type End struct {
	torn bool // a write has failed, and what it may have left is not cut off yet
}

// Growing is a file as End needs it.
type Growing interface {
	io.Writer
	Truncate(size int64) error
}

// Append adds b to a file of that size. A partial write is cut off: at once, or before the next one
// where a full disk does not allow even that. After an error that is not NoRoom the file is
// unusable.
func (e *End) Append(f Growing, size int64, b []byte) error {
	if err := e.Cut(f, size); err != nil {
		return err
	}
	n, err := f.Write(b)
	if err == nil && n != len(b) {
		err = io.ErrShortWrite
	}
	if err != nil {
		e.torn = true
		if cut := e.Cut(f, size); cut != nil && !NoRoom(cut) {
			return fmt.Errorf("%v; and then: %w", err, cut) //nolint:errorlint // no longer just full, but broken
		}
	}
	return err
}

// Cut cuts off what a failed write may have left behind size. It is for a file to which nothing is
// added any more.
func (e *End) Cut(f Growing, size int64) error {
	if !e.torn {
		return nil
	}
	if err := f.Truncate(size); err != nil {
		return fmt.Errorf("cut a partial write off at %d: %w", size, err)
	}
	e.torn = false
	return nil
}
