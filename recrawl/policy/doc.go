// Package policy distributes the available visits over the known pages.
//
// It is for revisits (package recrawl). The aim is the greatest expected freshness, weighted by
// importance: the fraction of pages whose copy is up to date.
//
// # One price
//
// A page that changes r times a second and is visited every t seconds is fresh for
//
//	F = (1 - exp(-rt)) / (rt)
//
// of the time (Cho and Garcia-Molina, "Effective page refresh policies for Web crawlers", 2003).
// Under a budget of visits a second, the sum of weight·F is greatest when one more visit gains the
// same for every page. That gain, in seconds of freshness of a page of weight 1, is the price. A
// page is visited when the gain of the visit has reached the price:
//
//	weight · (1 - (1+rt)·exp(-rt)) / r  =  price
//
// This is the rule of Azar, Horvitz, Lubetzky, Peres and Shahaf ("Tractable near-optimal policies
// for crawling", PNAS 2018): it needs one page and one number. A page that changes too fast
// never reaches the price, and is visited only at the longest interval. The rate is not known but
// believed (estimate.Gamma), so the left side is its expectation under the belief (Worth). With few
// visits this expectation is lower than the value at the mean rate for pages that seem slow, and
// higher for those that seem too fast. The latter is how a page that has slowed down is detected.
//
// # Each node computes the price alone
//
// Demand counts a node's pages in cells of belief and weight. Its Curve says how many visits they
// demand at each price. A curve has a fixed size and is sent to all members; Curves keeps the
// newest of each member, so repeats and reordering have no effect. Solve finds the price at which
// the demand of all members equals the available visits. Equal curves give equal prices; the curve
// of a member that leaves is dropped.
//
// # A visit needs a reason
//
// While there are more visits than the pages want, the price is next to nothing, and each page
// would be visited at the shortest interval for ever. Bounds.Worth forbids that: no interval is
// shorter than the time after which the page has changed with this probability, by its belief. A
// page that never changes is believed less with each visit, so its intervals grow up to the longest
// one. Where visits are scarce, because pages that have a reason alone want more than there are,
// Worth would save no visit: it would move visits from pages that change slowly, whose copies
// become older by it, to pages that change so fast that a visit brings little. There only a part of
// it acts (Curve.Ease). Measured at one visit a change, the gain over equal intervals is 0.92
// without Worth, and 0.73 with all of it.
//
// # A host's own limit
//
// When a host's pages demand more visits than its delay allows, its factor (HostFactor) grows, by
// which the price is multiplied for its pages, until both are equal. It is a second price, for the
// host's time.
//
// # What it does not do
//
// It knows no URL, no clock and no disk, and draws no random number.
package policy
