# The command line of a monitor. A shim of containerd is called with `start` or `delete` after its options. conmon monitors
# a container (`start` here) or, with -e, a command in one (`exec`). Other calls, such as --version, have no operation.

critests_options() {
    for critests_word in "$@"; do
        case $critests_before_it:$critests_word in
        -id:*) critests_id=$critests_word ;;
        -c:*) critests_id=$critests_word critests_operation=${critests_operation:-start} ;;
        *:-e) critests_operation=exec ;;
        *:start | *:delete) critests_operation=$critests_word ;;
        esac
        critests_before_it=$critests_word
    done
}

critests_before() {
    :
}

critests_works_afterwards() {
    false
}

critests_call() {
    "$critests_real" "$@"
}

critests_refuse() {
    printf '%s\n' "$critests_message" >&2
}

[ -s "$critests_plan" ] || exec "$critests_real" "$@"
critests_operation='' critests_id='' critests_operand='' critests_before_it=''
critests_options "$@"
critests_read_plan
critests_perform "$@"
