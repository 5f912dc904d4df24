package keyfile

// Describe says how the connections of a node are secured.
func Describe(keyed, insecure bool) string {
	switch {
	case keyed:
		return "encrypted and authenticated with the cluster key"
	case insecure:
		return "INSECURE: no key, and listening beyond loopback is allowed"
	default:
		return "no key; loopback only"
	}
}
