package graph

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"

	"crawlnode/api/plaintext"
	"crawlnode/importance/pagerank"
	"crawlnode/output/linkgraph"
)

// printer prints a vector.
type printer struct {
	verb   *RankVerb
	graph  *linkgraph.Graph
	result *pagerank.Result
}

// row is one page or host.
type row struct {
	Position int     `json:"position"` // from 1
	PageRank float64 `json:"pagerank"`
	Rank     float64 `json:"rank"` // 1 the most important, 0 the least
	In       uint32  `json:"links_in"`
	Out      uint32  `json:"links_out"`
	URL      string  `json:"url,omitempty"`
	Host     string  `json:"host,omitempty"`
}

func (r *row) name() string { return r.URL + r.Host } // one of them is empty

// print writes the vector in the form that was asked for.
func (p *printer) print(w io.Writer) error {
	out := bufio.NewWriterSize(w, 64<<10)
	var err error
	switch p.verb.Output {
	case "csv":
		err = p.csv(out)
	case "json":
		err = p.json(out)
	default:
		err = p.text(out)
	}
	if err != nil {
		return err
	}
	return out.Flush()
}

// order lists all nodes, the most important first; of equal ones the one that was found first.
func (p *printer) order() []uint32 {
	ids := make([]uint32, len(p.result.Ranks))
	for i := range ids {
		ids[i] = uint32(i)
	}
	slices.SortFunc(ids, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(p.result.Ranks[b], p.result.Ranks[a]), cmp.Compare(a, b))
	})
	return ids
}

// rows calls f with each row to print. Equal nodes have the same rank: the share of the other
// nodes that are less important. A node that is alone has 1.
func (p *printer) rows(f func(*row) error) error {
	ids := p.order()
	ranks := p.result.Ranks
	shown := len(ids)
	if p.verb.Top > 0 {
		shown = min(shown, p.verb.Top)
	}
	end := 0 // of the nodes that are equal to this one
	for i, id := range ids[:shown] {
		for end < len(ids) && ranks[ids[end]] >= ranks[id] {
			end++
		}
		name, err := p.graph.Name(id)
		if err != nil {
			return err
		}
		r := row{
			Position: i + 1,
			PageRank: ranks[id],
			Rank:     1,
			In:       p.result.In[id],
			Out:      p.result.Out[id],
			URL:      name,
		}
		if len(ids) > 1 {
			r.Rank = float64(len(ids)-end) / float64(len(ids)-1)
		}
		if p.verb.By == "host" {
			r.URL, r.Host = "", name
		}
		if err := f(&r); err != nil {
			return err
		}
	}
	return nil
}

func (p *printer) text(out *bufio.Writer) error {
	r := p.result
	fmt.Fprintf(out, "%d %ss, %d links, %d without links; %d iterations\n", len(r.Ranks), p.verb.By,
		r.Links, r.Dangling, r.Iterations)
	fmt.Fprintf(out, "%8s  %-12s %-7s %8s %8s  %s\n", "POSITION", "PAGERANK", "RANK", "IN", "OUT",
		map[string]string{"page": "URL", "host": "HOST"}[p.verb.By])
	return p.rows(func(r *row) error {
		_, err := fmt.Fprintf(out, "%8d  %-12.6g %-7.5f %8d %8d  %s\n", r.Position, r.PageRank, r.Rank,
			r.In, r.Out, plaintext.Escape(r.name()))
		return err
	})
}

func (p *printer) csv(out *bufio.Writer) error {
	w := csv.NewWriter(out)
	if err := w.Write([]string{"position", "pagerank", "rank", "links_in", "links_out",
		map[string]string{"page": "url", "host": "host"}[p.verb.By]}); err != nil {
		return err
	}
	err := p.rows(func(r *row) error {
		return w.Write([]string{strconv.Itoa(r.Position), number(r.PageRank), number(r.Rank),
			strconv.Itoa(int(r.In)), strconv.Itoa(int(r.Out)), r.name()})
	})
	w.Flush()
	if err != nil {
		return err
	}
	return w.Error()
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// json writes one object, row by row: the vector may be larger than the memory.
func (p *printer) json(out *bufio.Writer) error {
	r := p.result
	head, err := json.Marshal(map[string]any{
		"by": p.verb.By, "nodes": len(r.Ranks), "links": r.Links, "dangling": r.Dangling,
		"damping":    p.verb.Damping,
		"iterations": r.Iterations, "change": r.Change, "converged": r.Converged,
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s,\"ranks\":[", head[:len(head)-1])
	before := "\n"
	err = p.rows(func(r *row) error {
		b, err := json.Marshal(r)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s%s", before, b)
		before = ",\n"
		return nil
	})
	if err != nil {
		return err
	}
	_, err = out.WriteString("\n]}\n")
	return err
}
