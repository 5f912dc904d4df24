package wall

// Product is what keeps robots out.
type Product uint8

// The products. The numbers are written to disk: new ones come last.
const (
	None Product = iota // no wall
	Other
	Cloudflare
	Akamai
	Imperva
	DataDome
	Human // HUMAN, formerly PerimeterX
	AWSWAF
	Anubis
	Sucuri
	Kasada
	F5
	Fastly
	Vercel
	Reblaze
	Radware
	DDoSGuard
	Qrator
	StackPath
	Barracuda
	Wordfence
	GoAway
	Azure
	FortiWeb
	Imunify360
	Distil
	ArvanCloud
	numProducts
)

// MaxProducts is how many numbers a Product may have, so that stores have room for new ones.
const MaxProducts = 48

var names = [numProducts]string{
	"", "other", "cloudflare", "akamai", "imperva", "datadome", "human", "aws-waf", "anubis", "sucuri",
	"kasada", "f5", "fastly",
	"vercel", "reblaze", "radware", "ddos-guard", "qrator", "stackpath", "barracuda", "wordfence",
	"go-away", "azure", "fortiweb",
	"imunify360", "distil", "arvancloud",
}

// String is the product's name in the API; "" for None, and other for a number of a later release.
func (p Product) String() string {
	if p >= numProducts {
		return names[Other]
	}
	return names[p]
}

// Named is the product of that name; None: there is none.
func Named(name string) Product {
	for p := Other; p < numProducts; p++ {
		if names[p] == name {
			return p
		}
	}
	return None
}
