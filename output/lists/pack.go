package lists

import (
	"bytes"
	"fmt"

	"github.com/klauspost/compress/gzip"
)

// packer makes gzip members. One goroutine at a time uses it. It is reused, as it takes almost 1
// MB.
type packer struct {
	z   *gzip.Writer
	out bytes.Buffer
}

// lines makes a member of lines; lines of pairs of hosts are summed.
func (p *packer) lines(text []byte, sum bool) ([]byte, error) {
	if sum {
		text = addUp(text)
	}
	return p.pack(text)
}

// pack makes a member of the parts, one behind the other. It is valid until the next
// call.
func (p *packer) pack(parts ...[]byte) ([]byte, error) {
	p.out.Reset()
	if p.z == nil {
		p.z, _ = gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is a valid one
	}
	p.z.Reset(&p.out)
	for _, part := range parts {
		if _, err := p.z.Write(part); err != nil {
			return nil, fmt.Errorf("compress: %w", err)
		}
	}
	if err := p.z.Close(); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	return p.out.Bytes(), nil
}
