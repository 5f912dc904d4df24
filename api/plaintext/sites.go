package plaintext

import (
	"bytes"
	"fmt"
	"io"
	"text/tabwriter"

	"crawlnode/crawl"
)

// WriteSite writes which rules for sites apply to a URL, and each value with the line it comes
// from; with all also those values that no rule gives.
func WriteSite(w io.Writer, r *crawl.SiteReport, all bool) error {
	var b bytes.Buffer
	fmt.Fprintln(&b, Escape(r.URL))
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	if len(r.Rules) == 0 {
		fmt.Fprintln(&b, "no rule for sites applies: everything is as the crawl's settings say")
	}
	for _, rule := range r.Rules {
		for i, match := range rule.Match {
			from := ""
			if i == 0 {
				from = fmt.Sprintf("rule of line %d", rule.Line)
			}
			fmt.Fprintf(table, "%s\t%s\n", from, Escape(Cut(match)))
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, v := range r.Values {
		from := "crawl"
		if v.Line != nil {
			from = fmt.Sprintf("line %d", *v.Line)
		} else if !all {
			continue
		}
		value := Escape(v.Value)
		if value == "" {
			value = "none"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", Escape(v.Field), value, from)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}
