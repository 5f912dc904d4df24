package visits

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"crawlnode/recrawl/policy"
	"crawlnode/recrawl/policy/estimate"
)

var picture = flag.Bool("picture", false, "draw docs/pictures/recrawl.svg anew")

const pictureFile = "../../docs/pictures/recrawl.svg"

// TestPicture: the picture of docs/recrawl.md is what the policy and the estimator do. Its numbers
// are rounded to whole units of the picture, so that no processor draws another one.
func TestPicture(t *testing.T) {
	t.Parallel()
	want := drawPicture()
	if *picture {
		if err := os.WriteFile(pictureFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(pictureFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != want {
		t.Errorf("%s is not what the code does: go test ./recrawl -run '^TestPicture$' -picture",
			pictureFile)
	}
}

// panel is a coordinate system with two logarithmic axes, or one.
type panel struct {
	b           *strings.Builder
	top         float64
	lowX, highX float64
	lowY, highY float64
	linearX     bool
	title, onX  string
}

// The size of a panel.
const (
	panelLeft, panelWidth   = 70.0, 620.0
	panelBelow, panelHeight = 40.0, 220.0
)

func (p *panel) x(v float64) float64 {
	if p.linearX {
		return panelLeft + panelWidth*(v-p.lowX)/(p.highX-p.lowX)
	}
	return panelLeft + panelWidth*math.Log(v/p.lowX)/math.Log(p.highX/p.lowX)
}

func (p *panel) y(v float64) float64 {
	v = min(max(v, p.lowY), p.highY)
	return p.top + panelHeight*(1-math.Log(v/p.lowY)/math.Log(p.highY/p.lowY))
}

// mark is a labelled value of an axis.
type mark struct {
	v    float64
	text string
}

const (
	minute, hour, day = 60.0, 3600.0, 86400.0
)

func (p *panel) frame(xs, ys []mark) {
	fmt.Fprintf(p.b, "<text class=\"t\" x=\"%.0f\" y=\"%.0f\">%s</text>\n", panelLeft, p.top-14,
		p.title)
	for _, m := range ys {
		fmt.Fprintf(p.b,
			"<path class=\"g\" d=\"M%.0f %.0fH%.0f\"/><text x=\"%.0f\" y=\"%.0f\" "+
				"text-anchor=\"end\">%s</text>\n",
			panelLeft, p.y(m.v), panelLeft+panelWidth, panelLeft-6, p.y(m.v)+4, m.text)
	}
	for _, m := range xs {
		fmt.Fprintf(p.b,
			"<path class=\"g\" d=\"M%.0f %.0fV%.0f\"/><text x=\"%.0f\" y=\"%.0f\" "+
				"text-anchor=\"middle\">%s</text>\n",
			p.x(m.v), p.top, p.top+panelHeight, p.x(m.v), p.top+panelHeight+16, m.text)
	}
	fmt.Fprintf(p.b, "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">%s</text>\n",
		panelLeft+panelWidth, p.top+panelHeight+34, p.onX)
}

// line draws the values of f at n places of the axis.
func (p *panel) line(class string, n int, at func(i int) (x, y float64)) {
	fmt.Fprintf(p.b, "<polyline class=\"%s\" points=\"", class)
	for i := range n {
		x, y := at(i)
		fmt.Fprintf(p.b, "%.0f,%.0f ", p.x(x), p.y(y))
	}
	p.b.WriteString("\"/>\n")
}

func (p *panel) label(class string, x, y float64, text string) {
	fmt.Fprintf(p.b, "<text class=\"%s\" x=\"%.0f\" y=\"%.0f\">%s</text>\n", class, p.x(x), p.y(y),
		text)
}

var spans = []mark{{10 * minute, "10 min"}, {hour, "1 h"}, {6 * hour, "6 h"}, {day, "1 d"},
	{7 * day, "7 d"}, {30 * day, "30 d"}, {365 * day, "1 y"}}

func drawPicture() string {
	var b strings.Builder
	b.WriteString(
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 640" role="img" aria-label="How the interval between visits depends on how often a page changes, and how a belief becomes narrower">
<style>rect{fill:#fff}text{font:12px sans-serif;fill:#333}.t{font-weight:bold;font-size:14px}.g{stroke:#ddd;fill:none}polyline{fill:none;stroke-width:2}.a{stroke:#22588c}.b{stroke:#9a6c14}.c{stroke:#2f7a54}.e{stroke:#888;stroke-dasharray:5 4}.s{stroke:#9db6cf;stroke-width:1}text.a,text.b,text.c,text.e{stroke:none}text.a{fill:#22588c}text.b{fill:#7d5700}text.c{fill:#2c6648}text.e{fill:#555}</style>
<rect width="720" height="640"/>
`)
	drawPolicy(&b)
	drawBelief(&b)
	b.WriteString("</svg>\n")
	return b.String()
}

// drawPolicy: intervals of pages whose rates are known, at three budgets.
func drawPolicy(b *strings.Builder) {
	p := &panel{b: b, top: 40, lowX: 10 * minute, highX: 365 * day, lowY: hour / 2, highY: 120 * day,
		title: "Policy: how long until the next visit, when there is on average for each page",
		onX:   "mean time between two changes of the page"}
	p.frame(spans, []mark{{hour, "1 h"}, {6 * hour, "6 h"}, {day, "1 d"}, {7 * day, "7 d"},
		{30 * day, "30 d"}, {90 * day, "90 d"}})
	bounds := policy.Bounds{Min: time.Hour, Max: 90 * 24 * time.Hour}
	const n = 121
	every := func(i int) float64 { return p.lowX * math.Pow(p.highX/p.lowX, float64(i)/(n-1)) }
	interval := func(i int, price float64) float64 {
		return policy.Plan(estimate.Known(1/every(i)), 1, price, bounds).Seconds()
	}
	for _, c := range []struct {
		class, text string
		mean        float64
	}{{"c", "1 visit a day", day}, {"a", "1 visit a week", 7 * day},
		{"b", "1 visit in 30 days", 30 * day}} {
		low, high := 1e-3, 1e9 // prices
		for range 80 {
			price := math.Sqrt(low * high)
			var visits float64
			for i := range n {
				visits += 1 / interval(i, price)
			}
			if visits/n > 1/c.mean {
				low = price
			} else {
				high = price
			}
		}
		p.line(c.class, n, func(i int) (float64, float64) { return every(i), interval(i, high) })
		p.label(c.class, 12*minute, c.mean/3, c.text)
	}
}

// drawBelief: what is believed of one page after each of its visits.
func drawBelief(b *strings.Builder) {
	const every, visits = 3 * day, 40
	p := &panel{b: b, top: 360, lowX: 0, highX: visits, lowY: hour * 6, highY: 30 * day, linearX: true,
		title: "Estimator: the time between two changes that is believed, visit by visit",
		onX:   "visits, one each day"}
	p.frame([]mark{{0, "0"}, {10, "10"}, {20, "20"}, {30, "30"}, {40, "40"}},
		[]mark{{6 * hour, "6 h"}, {day, "1 d"}, {3 * day, "3 d"}, {7 * day, "7 d"}, {30 * day, "30 d"}})
	rules := Rules{Interval: 7 * 24 * time.Hour}
	rng := rand.New(rand.NewPCG(3, 4))
	beliefs := []estimate.Gamma{rules.Prior()}
	var stats estimate.Stats
	for range visits {
		stats = stats.Observe(estimate.Observation{
			Interval: 24 * time.Hour,
			Changed:  rng.Float64() < 1-math.Exp(-day/every),
		})
		beliefs = append(beliefs, stats.Posterior(rules.Prior()))
	}
	p.line("e", 2, func(i int) (float64, float64) { return float64(i * visits), every })
	p.label("e", 32, every*0.32, "dashed: as it is, 3 days")
	for _, off := range []float64{-1, 1} {
		p.line("s", len(beliefs), func(i int) (float64, float64) {
			g := beliefs[i]
			return float64(i), 1 / max(g.Mean()*(1+off/math.Sqrt(g.Shape)), 1/(30*day))
		})
	}
	p.line("a", len(beliefs),
		func(i int) (float64, float64) { return float64(i), 1 / beliefs[i].Mean() })
	p.label("a", 12, 15*day, "begins with --recrawl-interval, 7 d; thin lines: one standard deviation")
}
