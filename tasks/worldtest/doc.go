// Package worldtest tells whole stories of the product from a seed.
package worldtest
