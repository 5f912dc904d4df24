// Package policy divides the visits there are among the pages that are known.
//
// It is for revisits (package recrawl). The aim is the greatest expected freshness, weighted by
// importance: the share of the pages whose copy is as the page is.
//
// # One price
//
// A page that changes r times a second and is visited every t seconds is fresh for
//
//	F = (1 - exp(-rt)) / (rt)
//
// of the time (Cho and Garcia-Molina, "Effective page refresh policies for Web crawlers", 2003).
// Under a budget of visits a second, the sum of weight·F is greatest when a visit more brings
// the same everywhere. That amount, in seconds of freshness of a page of weight 1, is the price. A page
// is worth a visit when what the visit brings has reached the price:
//
//	weight · (1 - (1+rt)·exp(-rt)) / r  =  price
//
// This is the rule of Azar, Horvitz, Lubetzky, Peres and Shahaf ("Tractable near-optimal policies
// for crawling", PNAS 2018): it looks at one page and one number. A page that changes too fast
// never reaches the price, and is visited at the longest interval only. The rate is not known but
// believed (estimate.Gamma), so the left side is its expectation under the belief (Worth). With
// little known it is lower than with the mean rate for pages that seem slow, and higher for those
// that seem too fast: the second way is how a page that has calmed down is found out.
//
// # The price is computed by each node alone
//
// Demand counts a node's pages in cells of belief and weight. Its Curve says how many visits they
// want at each price. A curve has a fixed size and goes to all members; Curves keeps the newest of
// each member, so repeats and reordering change nothing. Solve finds the price at which all
// members' pages together want the visits that there are. Equal curves give equal prices; a
// member that leaves takes its curve with it.
//
// # A host's own limit
//
// A host's pages want more visits than its delay allows: then its factor grows (HostFactor), by
// which the price is multiplied for its pages, until both are equal. It is the second price, of the
// host's time.
//
// # What it does not do
//
// It knows no URL, no clock and no disk. It draws nothing at random.
package policy
