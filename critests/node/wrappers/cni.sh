# The CNI plugin's call: operation and container in the environment, the configuration on stdin, the result on stdout.

critests_before() {
    :
}

critests_works_afterwards() {
    [ -n "$critests_edits" ]
}

# Edit the result, if that is planned. A process for the plugin, and two for each edit whose text is there.
critests_call() {
    [ -n "$critests_edits" ] || {
        "$critests_real" "$@"
        return
    }
    critests_result=$("$critests_real" "$@")
    critests_exit=$?
    for critests_edit in $critests_edits; do
        IFS='' read -r critests_old <"$critests_edit_files/$critests_edit.old"
        case $critests_result in
        *"$critests_old"*)
            critests_result=$(printf '%s\n' "$critests_result" | sed -f "$critests_edit_files/$critests_edit.sed")
            critests_made=$((critests_made + 1))
            ;;
        esac
    done
    printf '%s\n' "$critests_result"
    return "$critests_exit"
}

critests_refuse() {
    printf '{"cniVersion":"1.0.0","code":%s,"msg":"%s"}\n' "$critests_code" "$critests_message"
}

critests_program=${0##*/}
critests_real=$critests_plugins/$critests_program
# A plugin finds those that it calls itself (IPAM) in CNI_PATH: there it is to find the real ones, so that only what the
# runtime calls is recorded, and is so once.
CNI_PATH=$critests_plugins:${CNI_PATH-}
export CNI_PATH
[ -s "$critests_plan" ] || exec "$critests_real" "$@"
critests_operation=${CNI_COMMAND-} critests_id=${CNI_CONTAINERID-}
critests_read_plan
critests_perform "$@"
