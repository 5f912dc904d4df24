package dashboard

import (
	"fmt"

	"crawlnode/api/codes"
	"crawlnode/crawl"
)

// verdict is the sentence that the overview opens with: whether all is well, and if so why it is
// not faster, if not what is wrong.
type verdict struct {
	Level string // of health: its colour
	Word  string
	Text  string // the rest of the sentence, without its full stop
	Title string // what its code means; "": it names none
}

func verdictOf(st *crawl.Status) verdict {
	h := &st.Cluster.Health
	if h.Level != crawl.HealthOK && len(h.Reasons) > 0 {
		return trouble(h, st.Crawl.State)
	}
	v := verdict{Level: crawl.HealthOK, Word: "All is well"}
	switch st.Crawl.State {
	case crawl.CrawlIdle:
		v.Text = "nothing to crawl yet; give seeds to start"
	case crawl.CrawlPaused:
		v.Text = fmt.Sprintf("the crawl is paused with %s URLs queued; Resume continues it",
			count(st.Frontier.Queued))
	case crawl.CrawlWaiting:
		v.Text = st.Crawl.Message
	case crawl.CrawlFinished:
		v.Text = ending(st)
	default:
		v.Text = fmt.Sprintf("%s pages per second; ", rate(st.Throughput.PagesPerSecond.Now))
		if cause := st.Bottleneck.Cause; cause != crawl.BottleneckNone && cause != "" {
			v.Text += "not faster because of " + words(cause) + ": "
			v.Title = meaning(codes.Limit, cause)
		}
		v.Text += st.Bottleneck.Message
	}
	return v
}

// trouble names the first problem; a critical one comes first.
func trouble(h *crawl.Health, state string) verdict {
	v := verdict{Level: h.Level, Word: "Needs attention", Text: h.Reasons[0].Message,
		Title: meaning(codes.Health, h.Reasons[0].Code)}
	if h.Level == crawl.HealthCritical {
		v.Word = "Not well"
	}
	if more := len(h.Reasons) - 1; more > 0 {
		v.Text += fmt.Sprintf(" (and %d more below)", more)
	}
	if state == crawl.CrawlPaused {
		v.Text += "; the crawl is paused"
	}
	return v
}

// ending says why the crawl has ended and how it goes on.
func ending(st *crawl.Status) string {
	reason := ""
	if st.Crawl.FinishReason != nil {
		reason = *st.Crawl.FinishReason
	}
	pages, queued := count(st.Throughput.PagesTotal), count(st.Frontier.Queued)
	switch reason {
	case crawl.FinishExhausted:
		return fmt.Sprintf("the crawl is complete with %s pages; nothing is queued", pages)
	case crawl.FinishMaxPages:
		return fmt.Sprintf(
			"the crawl has reached its limit of pages with %s URLs queued; a higher max-pages continues it",
			queued)
	case crawl.FinishMaxDuration:
		return fmt.Sprintf("the crawl has reached its limit of time with %s URLs queued; "+
			"a longer max-duration continues it", queued)
	}
	return fmt.Sprintf(
		"the crawl was stopped after %s pages with %s URLs queued; new seeds start it again",
		pages, queued)
}
