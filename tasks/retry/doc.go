// Package retry says when a delivery that failed is tried again.
package retry
