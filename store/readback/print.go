package readback

import (
	"context"
	"fmt"
	"io"
)

// Form says what of a page is wanted; without any it is the content.
type Form struct {
	Headers bool // the head only
	Text    bool // the visible text
	Raw     bool // head and payload, as they were received
}

// Print writes the newest capture of a URL to out, and to warnings what keeps it from being whole.
func Print(ctx context.Context, s Source, url string, form Form, out, warnings io.Writer) error {
	page, err := Load(ctx, s, url)
	if err != nil {
		return err
	}
	if why := page.Record.Truncated; why != "" {
		fmt.Fprintf(warnings, "crawlnode: the body is not whole: %s\n", why)
	}
	wanted, cut, err := page.form(form)
	if err != nil {
		return err
	}
	if cut {
		fmt.Fprintf(warnings, "crawlnode: only the first %d bytes are shown\n", len(wanted))
	}
	_, err = out.Write(wanted)
	return err
}

func (p *Page) form(f Form) (wanted []byte, cut bool, err error) {
	switch {
	case f.Headers:
		return p.Head(), false, nil
	case f.Raw:
		return p.Raw(), false, nil
	case f.Text:
		text, err := p.Text()
		return []byte(text + "\n"), false, err
	}
	return p.Content()
}
