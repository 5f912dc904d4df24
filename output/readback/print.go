package readback

import (
	"context"
	"fmt"
	"io"
	"strings"
)

// Form says what of a page is wanted; without any it is the content.
type Form struct {
	Headers  bool // the head only
	Text     bool // the visible text
	Markdown bool // the main content as Markdown
	Raw      bool // head and payload, as they were received
}

// Print writes the newest capture of a URL to out, and to warnings what keeps it from being whole.
func Print(ctx context.Context, s Source, url string, form Form, limit int64,
	out, warnings io.Writer,
) error {
	page, err := Load(ctx, s, url, limit)
	if err != nil {
		return err
	}
	if why := page.Record.Truncated; why != "" {
		fmt.Fprintf(warnings, "crawlnode: the body is not whole: %s\n", why)
	}
	wanted, cut, err := page.form(form)
	if err != nil && len(wanted) == 0 {
		return err
	}
	if err != nil {
		fmt.Fprintf(warnings, "crawlnode: what could be read is shown: %v\n", err)
	}
	if cut {
		fmt.Fprintf(warnings, "crawlnode: only the first %d bytes are shown\n", len(wanted))
	}
	_, err = out.Write(wanted)
	return err
}

// form is what is wanted of a page; an error with it says what is wrong with the page.
func (p *Page) form(f Form) (wanted []byte, cut bool, err error) {
	switch {
	case f.Headers:
		return p.Head(), false, nil
	case f.Raw:
		return p.Raw(), false, nil
	case f.Text:
		text, err := p.Text()
		if err != nil {
			return nil, false, err
		}
		return []byte(text + "\n"), false, p.Damage()
	}
	if f.Markdown {
		text, cut, err := p.Markdown()
		if err != nil {
			return nil, false, err
		}
		return []byte(strings.TrimRight(text, "\n") + "\n"), cut, p.Damage()
	}
	return p.Content()
}
