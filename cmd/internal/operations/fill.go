package operations

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
)

// Fill copies flags into the fields of the same name of a draft or a patch, a pointer to a struct:
// --time-zone is TimeZone. It skips flags that were not given, and fields that are no text, number,
// bool or percents, and lists of others. It reports whether it set any.
func Fill(flags *pflag.FlagSet, into any) (some bool, err error) {
	to := reflect.ValueOf(into).Elem()
	flags.Visit(func(flag *pflag.Flag) {
		name, text := strings.ReplaceAll(flag.Name, "-", ""), flag.Value.String()
		field := to.FieldByNameFunc(func(field string) bool { return strings.EqualFold(field, name) })
		if err != nil || !field.IsValid() {
			return
		}
		var value any
		switch field.Type() {
		case reflect.TypeFor[string]():
			value = text
		case reflect.TypeFor[*string]():
			value = &text
		case reflect.TypeFor[bool]():
			value, err = strconv.ParseBool(text)
		case reflect.TypeFor[int64]():
			value, err = strconv.ParseInt(text, 0, 64)
		case reflect.TypeFor[[]int]():
			if flag.Value.Type() != "string" {
				return
			}
			value, err = cli.ParseAlertAt(text)
		default:
			return
		}
		if err == nil {
			some = true
			field.Set(reflect.ValueOf(value))
		}
	})
	return some, err
}
